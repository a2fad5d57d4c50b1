//! Several judges and one verdict: never a guess. When they do not agree as was asked, nobody has judged (spec `eval` 5.4).

use serde::{Deserialize, Serialize};

/// How many judge, and how they have to agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Jury {
    /// How many, at least 1.
    pub votes: u32,
    /// How they have to agree.
    pub quorum: Quorum,
}

/// What one layer says of a jury.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JurySettings {
    /// How many.
    pub votes: Option<u32>,
    /// How they have to agree.
    pub quorum: Option<Quorum>,
}

/// How judges have to agree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quorum {
    /// More than half.
    #[default]
    Majority,
    /// All.
    Unanimous,
}

/// What one judge says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vote {
    /// Whether everything holds.
    pub pass: bool,
    /// What holds and what does not.
    pub clauses: Vec<Clause>,
}

/// One thing that must hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clause {
    /// It.
    pub clause: String,
    /// Whether it does.
    pub pass: bool,
    /// What shows that.
    pub evidence: String,
}

/// What became of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It passes.
    Pass,
    /// It fails.
    Fail,
    /// Nobody has judged it.
    Unjudged,
    /// It was not to be judged.
    Skipped,
}

impl Verdict {
    /// Returns the word of reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Unjudged => "unjudged",
            Self::Skipped => "skipped",
        }
    }
}

impl Quorum {
    /// Reads the word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "majority" => Some(Self::Majority),
            "unanimous" => Some(Self::Unanimous),
            _ => None,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Majority => "majority",
            Self::Unanimous => "unanimous",
        }
    }
}

/// Counts votes: the verdict, and the clauses that decide it.
#[must_use]
pub fn decide(votes: &[Vote], quorum: Quorum) -> (Verdict, Vec<Clause>) {
    let passes = votes.iter().filter(|vote| vote.pass).count();
    let fails = votes.len() - passes;
    let clauses_of =
        |pass| votes.iter().find(|vote| vote.pass == pass).map(|vote| vote.clauses.clone());
    let decided = match quorum {
        Quorum::Majority if passes > fails => Some((Verdict::Pass, clauses_of(true))),
        Quorum::Majority if fails > passes => Some((Verdict::Fail, clauses_of(false))),
        Quorum::Unanimous if passes > 0 && fails == 0 => Some((Verdict::Pass, clauses_of(true))),
        Quorum::Unanimous if fails > 0 && passes == 0 => Some((Verdict::Fail, clauses_of(false))),
        Quorum::Majority | Quorum::Unanimous => None,
    };
    match decided {
        Some((verdict, clauses)) => (verdict, clauses.unwrap_or_default()),
        None => (Verdict::Unjudged, vec![sub_quorum(votes, quorum)]),
    }
}

fn sub_quorum(votes: &[Vote], quorum: Quorum) -> Clause {
    let told: Vec<String> = votes
        .iter()
        .enumerate()
        .map(|(index, vote)| {
            format!("vote {}: {}", index + 1, if vote.pass { "pass" } else { "fail" })
        })
        .collect();
    Clause {
        clause: "(jury sub-quorum)".to_owned(),
        pass: false,
        evidence: format!("no {} among the votes: {}", quorum.word(), told.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn votes(passes: &[bool]) -> Vec<Vote> {
        passes
            .iter()
            .enumerate()
            .map(|(index, pass)| Vote {
                pass: *pass,
                clauses: vec![Clause {
                    clause: format!("of vote {index}"),
                    pass: *pass,
                    evidence: String::new(),
                }],
            })
            .collect()
    }

    fn verdict(passes: &[bool], quorum: Quorum) -> Verdict {
        decide(&votes(passes), quorum).0
    }

    // E-F08
    #[test]
    fn more_than_half_decide_and_a_tie_is_nobodys() {
        assert_eq!(verdict(&[true, false, true], Quorum::Majority), Verdict::Pass);
        assert_eq!(verdict(&[false, false, true], Quorum::Majority), Verdict::Fail);
        let (tie, clauses) = decide(&votes(&[true, false]), Quorum::Majority);
        assert_eq!(tie, Verdict::Unjudged);
        assert_eq!(clauses[0].clause, "(jury sub-quorum)");
        assert_eq!(clauses[0].evidence, "no majority among the votes: vote 1: pass, vote 2: fail");
    }

    // E-F09
    #[test]
    fn all_of_one_mind_decide_and_one_other_makes_it_nobodys() {
        assert_eq!(verdict(&[true, true], Quorum::Unanimous), Verdict::Pass);
        assert_eq!(verdict(&[false, false], Quorum::Unanimous), Verdict::Fail);
        assert_eq!(verdict(&[true, true, false], Quorum::Unanimous), Verdict::Unjudged);
    }

    // E-F10
    #[test]
    fn without_a_quorum_there_is_never_a_pass_or_a_fail() {
        assert_eq!(Quorum::default(), Quorum::Majority);
        for quorum in [Quorum::Majority, Quorum::Unanimous] {
            assert_eq!(verdict(&[], quorum), Verdict::Unjudged);
            assert_eq!(verdict(&[true, false], quorum), Verdict::Unjudged);
        }
    }

    #[test]
    fn the_first_vote_of_the_deciding_side_gives_the_clauses() {
        let (_, clauses) = decide(&votes(&[false, true, true]), Quorum::Majority);
        assert_eq!(clauses[0].clause, "of vote 1");
    }
}
