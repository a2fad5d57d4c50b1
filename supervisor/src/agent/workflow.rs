//! The workflows: one text each for everything that a coding agent is asked to do, the same for every agent
//! (spec `cli-core` 4.2). Where a text goes and what stands before it is [`super::command`]'s and [`super::skill`]'s.

/// A workflow, by the id that stands in file names and in what is typed to an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CommandId {
    /// Author a change's features and plan.
    Propose,
    /// Carry out a change's plan.
    Apply,
    /// Check a change against its plan.
    Verify,
    /// Put a change away.
    Archive,
    /// Write a standard.
    ProposeStandard,
    /// Think before a change is proposed.
    Brainstorm,
    /// Run steps of a batch.
    ApplyBatch,
    /// Put a batch away.
    ArchiveBatch,
    /// Author a batch's manifest.
    ProposeBatch,
    /// Author a phase's changes.
    DecomposePhase,
    /// Open a pull request.
    OpenPr,
    /// Evaluate the project.
    Eval,
}

/// One workflow.
pub(super) struct Workflow {
    pub(super) id: &'static str,
    /// The folder of its skill.
    pub(super) skill: &'static str,
    pub(super) title: &'static str,
    pub(super) description: &'static str,
    pub(super) tags: [&'static str; 2],
    pub(super) body: &'static str,
}

impl CommandId {
    /// Every id.
    pub const ALL: [Self; 12] = [
        Self::Propose,
        Self::Apply,
        Self::Verify,
        Self::Archive,
        Self::ProposeStandard,
        Self::Brainstorm,
        Self::ApplyBatch,
        Self::ArchiveBatch,
        Self::ProposeBatch,
        Self::DecomposePhase,
        Self::OpenPr,
        Self::Eval,
    ];

    /// The ids that every project gets; the others have to be asked for.
    #[must_use]
    pub fn core() -> Vec<Self> {
        Self::ALL.into_iter().filter(|id| *id != Self::Eval).collect()
    }

    /// Returns the id as it stands in file names and tokens.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.workflow().id
    }

    /// Finds an id by its text.
    #[must_use]
    pub fn find(text: &str) -> Option<Self> {
        // What older configurations call it.
        let text = if text == "batch" { Self::ApplyBatch.as_str() } else { text };
        Self::ALL.into_iter().find(|id| id.as_str() == text)
    }

    pub(super) fn workflow(self) -> &'static Workflow {
        match self {
            Self::Propose => &PROPOSE,
            Self::Apply => &APPLY,
            Self::Verify => &VERIFY,
            Self::Archive => &ARCHIVE,
            Self::ProposeStandard => &PROPOSE_STANDARD,
            Self::Brainstorm => &BRAINSTORM,
            Self::ApplyBatch => &APPLY_BATCH,
            Self::ArchiveBatch => &ARCHIVE_BATCH,
            Self::ProposeBatch => &PROPOSE_BATCH,
            Self::DecomposePhase => &DECOMPOSE_PHASE,
            Self::OpenPr => &OPEN_PR,
            Self::Eval => &EVAL,
        }
    }
}

const PROPOSE: Workflow = Workflow {
    id: "propose",
    skill: "ratchet-propose",
    title: "RCT: Propose",
    description: "Author the features and the plan of one change",
    tags: ["workflow", "propose"],
    body: include_str!("workflow/propose.md"),
};
const APPLY: Workflow = Workflow {
    id: "apply",
    skill: "ratchet-apply-change",
    title: "RCT: Apply",
    description: "Carry out the tasks of a change's plan",
    tags: ["workflow", "apply"],
    body: include_str!("workflow/apply.md"),
};
const VERIFY: Workflow = Workflow {
    id: "verify",
    skill: "ratchet-verify-change",
    title: "RCT: Verify",
    description: "Check an applied change against its features, plan and standards",
    tags: ["workflow", "verify"],
    body: include_str!("workflow/verify.md"),
};
const ARCHIVE: Workflow = Workflow {
    id: "archive",
    skill: "ratchet-archive-change",
    title: "RCT: Archive",
    description: "Put a finished change away and its features into the store",
    tags: ["workflow", "archive"],
    body: include_str!("workflow/archive.md"),
};
const PROPOSE_STANDARD: Workflow = Workflow {
    id: "propose-standard",
    skill: "ratchet-propose-standard",
    title: "RCT: Propose Standard",
    description: "Write down one guideline that changes are to follow",
    tags: ["workflow", "standards"],
    body: include_str!("workflow/propose_standard.md"),
};
const BRAINSTORM: Workflow = Workflow {
    id: "brainstorm",
    skill: "ratchet-brainstorm",
    title: "RCT: Brainstorm",
    description: "Think a wish through until it can be proposed",
    tags: ["workflow", "thinking"],
    body: include_str!("workflow/brainstorm.md"),
};
const APPLY_BATCH: Workflow = Workflow {
    id: "apply-batch",
    skill: "ratchet-apply-batch",
    title: "RCT: Apply Batch",
    description: "Have ratchet run steps of a batch and bring its questions to a person",
    tags: ["workflow", "batch"],
    body: include_str!("workflow/apply_batch.md"),
};
const ARCHIVE_BATCH: Workflow = Workflow {
    id: "archive-batch",
    skill: "ratchet-archive-batch",
    title: "RCT: Archive Batch",
    description: "Put a finished batch away together with its changes",
    tags: ["workflow", "batch"],
    body: include_str!("workflow/archive_batch.md"),
};
const PROPOSE_BATCH: Workflow = Workflow {
    id: "propose-batch",
    skill: "ratchet-propose-batch",
    title: "RCT: Propose Batch",
    description: "Cut a larger piece of work into the phases and changes of a batch",
    tags: ["workflow", "batch"],
    body: include_str!("workflow/propose_batch.md"),
};
const DECOMPOSE_PHASE: Workflow = Workflow {
    id: "decompose-phase",
    skill: "ratchet-decompose-phase",
    title: "RCT: Decompose Phase",
    description: "Author the changes of an empty phase in its batch's manifest",
    tags: ["workflow", "batch"],
    body: include_str!("workflow/decompose_phase.md"),
};
const OPEN_PR: Workflow = Workflow {
    id: "open-pr",
    skill: "ratchet-open-pr",
    title: "RCT: Open PR",
    description: "Commit, push and open one pull request for finished work",
    tags: ["workflow", "batch"],
    body: include_str!("workflow/open_pr.md"),
};
const EVAL: Workflow = Workflow {
    id: "eval",
    skill: "ratchet-eval",
    title: "RCT: Eval",
    description: "Have ratchet judge the project against its features and invariants",
    tags: ["workflow", "eval"],
    body: include_str!("workflow/eval.md"),
};
