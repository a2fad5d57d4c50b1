//! The batches of a round: random phases, changes, edges, gates and proofs, in one or two projects.

use std::path::{Path, PathBuf};

use super::dice::Dice;
use crate::project::{Manifest, Phase};

/// A batch, and what must be known of it to move it.
#[derive(Debug, Clone)]
pub(super) struct Batch {
    /// The project's root.
    pub(super) root: PathBuf,
    /// Its name, which no other batch of the round has.
    pub(super) name: String,
    /// What it says, and what it says once its empty phase has been decomposed.
    pub(super) manifest: Manifest,
    pub(super) decomposed: Manifest,
    /// Its phases.
    pub(super) phases: Vec<String>,
    /// Everything that can have a step: changes, phases, pull requests.
    pub(super) keys: Vec<String>,
}

impl Batch {
    /// Makes one up. `log` takes a line from each proof that starts; proofs are sure to pass once `calm` is there.
    pub(super) fn random(
        root: &Path,
        name: &str,
        log: &Path,
        calm: &Path,
        dice: &mut Dice,
    ) -> Self {
        let mut plan = Plan::random(name, dice);
        if dice.chance(80) {
            plan.empty = None;
        }
        let proof = |dice: &mut Dice| proof(name, log, calm, dice);
        let proofs: Vec<_> = plan.phases.iter().map(|_| proof(dice)).collect();
        let mut keys: Vec<String> = plan.phases.iter().map(|phase| phase.name.clone()).collect();
        keys.extend(plan.phases.iter().flat_map(|phase| phase.changes.iter().cloned()));
        keys.push(format!("pr:{name}"));
        Self {
            root: root.to_owned(),
            name: name.to_owned(),
            manifest: plan.manifest(&proofs, plan.empty),
            decomposed: plan.manifest(&proofs, None),
            phases: plan.phases.into_iter().map(|phase| phase.name).collect(),
            keys,
        }
    }

    /// A path below the batch's folder.
    pub(super) fn path(&self, relative: &str) -> PathBuf {
        self.root.join(".ratchet/batches").join(&self.name).join(relative)
    }

    /// How many steps lead from anywhere to the end, if nothing is lost: each key has four moves, and may be parked, be
    /// answered and be recovered before each.
    pub(super) fn most_steps(&self) -> usize {
        self.keys.len() * 16 + 8
    }
}

/// What a batch is to do.
struct Plan {
    name: String,
    settings: Vec<&'static str>,
    phases: Vec<PlannedPhase>,
    /// Which phase has no changes yet.
    empty: Option<usize>,
}

struct PlannedPhase {
    name: String,
    changes: Vec<String>,
    /// Each change waits for the one before it.
    chained: bool,
}

impl Plan {
    fn random(name: &str, dice: &mut Dice) -> Self {
        let phase = |at: u32, dice: &mut Dice| PlannedPhase {
            name: format!("{name}-p{at}"),
            changes: (1..=dice.number(1..=2))
                .map(|change| format!("{name}-c{at}{change}"))
                .collect(),
            chained: dice.chance(50),
        };
        let phases: Vec<_> = (1..=dice.number(1..=2)).map(|at| phase(at, dice)).collect();
        let mut settings = vec![dice.weighed(&[
            (6, "gate: voluntary"),
            (2, "gate: after-propose"),
            (1, "gate: every-phase"),
            (1, "gate: autonomous"),
        ])];
        settings.push(dice.weighed(&[(3, "proofOfWork: hard-gate"), (1, "proofOfWork: warn")]));
        settings.push(dice.weighed(&[(3, "prGrouping: \"off\""), (1, "prGrouping: whole-batch")]));
        Self { name: name.to_owned(), settings, empty: Some(phases.len() - 1), phases }
    }

    fn manifest(&self, proofs: &[(String, &'static str)], empty: Option<usize>) -> Manifest {
        let with_settings = self
            .settings
            .iter()
            .fold(Manifest::new(&self.name), |manifest, setting| manifest.setting(setting));
        let phases = self.phases.iter().zip(proofs).enumerate();
        phases.fold(with_settings, |manifest, (at, (phase, (run, pass)))| {
            let bare = Phase::new(&phase.name).proof(run, pass);
            manifest.phase(if empty == Some(at) { bare } else { phase.fill(bare) })
        })
    }
}

impl PlannedPhase {
    fn fill(&self, phase: Phase) -> Phase {
        let mut before: Option<&str> = None;
        self.changes.iter().fold(phase, |phase, change| {
            let after = before.replace(change).filter(|_| self.chained);
            phase.change_after(change, after.as_slice())
        })
    }
}

/// A command that says that it started and whether its intent was there, and then passes, fails or takes its time.
fn proof(name: &str, log: &Path, calm: &Path, dice: &mut Dice) -> (String, &'static str) {
    let whim = dice.weighed(&[
        (4, "true"),
        (2, "sleep 0.05"),
        (1, "sleep 0.4"),
        (1, "exit 3"),
        (1, "kill -9 $$"),
        (1, "for i in {1..2000}; do echo one more line of a long proof; done"),
    ]);
    let run = format!(
        "[[ $(<.ratchet/batches/{name}/run/inflight.json) == *$RATCHET_SPAWN_ID* ]] && i=intended || i=unintended; \
         echo \"$RATCHET_SPAWN_ID proof $i\" >> {log}; [ -e {calm} ] || {{ {whim}; }}; echo well done",
        log = log.display(),
        calm = calm.display(),
    );
    (run, dice.weighed(&[(1, "exit code 0"), (1, "contains:well done")]))
}
