//! The chaos test: random batches, worked on by people with several terminals, while somebody kills whatever runs at
//! random instants; and afterwards, what must be true of that world.
//!
//! A round is one world: a storm of random moves (`storm`), the calm in which every batch must come to its end (`calm`),
//! and the looking (`check`). All that is random comes from the round's seed; the instants are the kernel's too, so a
//! seed that failed once may have to be tried more than once. Read next: `storm.rs`, then `check.rs`.

mod calls;
mod calm;
mod check;
mod dice;
mod figures;
mod host;
mod scenery;
mod storm;
mod temper;
mod world;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use self::calls::Calls;
use self::calm::Calm;
use self::check::Check;
use self::dice::Dice;
pub use self::figures::Figures;
pub use self::host::Door;
use self::host::Host;
use self::storm::Storm;
use self::temper::Casting;
use self::world::World;
use crate::env::Programs;

/// A round that failed.
#[derive(Debug)]
pub struct Failed {
    /// What makes this round again.
    pub seed: u64,
    /// Where everything of it is kept: `project`, `elsewhere`, `state`, `log`.
    pub kept: PathBuf,
    /// What was not as it must be.
    pub breaches: Vec<String>,
}

/// Plays one round.
///
/// # Errors
/// [`Failed`] if anything is not as it must be; its world is kept.
pub fn round(programs: Programs, door: Door, seed: u64) -> Result<Figures, Failed> {
    let mut dice = Dice::new(seed);
    let mut world = World::random(programs, &mut dice);
    let mut figures = Figures { rounds: 1, ..Figures::default() };
    let mut host = Host::new(door, &world.env);
    let played =
        catch_unwind(AssertUnwindSafe(|| play(&world, &mut host, &mut dice, &mut figures)));
    let breaches = played.unwrap_or_else(|panic| vec![words_of(&*panic)]);
    if breaches.is_empty() {
        return Ok(figures);
    }
    world.env.keep();
    Err(Failed { seed, kept: world.env.base(), breaches })
}

fn play(world: &World, host: &mut Host, dice: &mut Dice, figures: &mut Figures) -> Vec<String> {
    let mut calls = Calls::new(&world.env.base().join("log/calls"));
    let mut casting = Casting::new(world.diary.clone());
    let moves = dice.number(8..=30);
    // The moves' dice are their own, so that a round can be made shorter without becoming another.
    let mut storms = Dice::new(dice.seed());
    Storm {
        world,
        host,
        calls: &mut calls,
        casting: &mut casting,
        dice: &mut storms,
        figures,
        held: Vec::new(),
    }
    .rage(moves);
    let calm = Calm { world, host, calls: &mut calls, casting: &mut casting, dice, figures };
    let settled = calm.settle();
    let mut breaches = match settled {
        Ok(()) => Vec::new(),
        // What is still at work would only be told as left over.
        Err(error) => return vec![format!("{error:#}")],
    };
    figures.supervisors += host.started;
    breaches.append(&mut host.outrages);
    breaches.extend(Check::new(world, &calls.heard, figures).all());
    breaches
}

fn words_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
    text.unwrap_or_else(|| "a panic without words".to_owned())
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "the round with the seed {} failed:", self.seed)?;
        for breach in &self.breaches {
            writeln!(f, "- {breach}")?;
        }
        writeln!(f, "its world is kept in {}", self.kept.display())?;
        write!(
            f,
            "again: RATCHET_CHAOS_SEED={} RATCHET_CHAOS_ROUNDS=1 cargo test -p ratchet-tests --test it chaos",
            self.seed
        )
    }
}
