//! Every random choice of a round, drawn from its seed: the same seed makes the same world and the same moves. Only what
//! the kernel makes of their instants differs.

use std::time::Duration;

/// Seeded dice.
#[derive(Debug)]
pub(super) struct Dice(fastrand::Rng);

impl Dice {
    /// Dice that fall the same for the same seed.
    pub(super) fn new(seed: u64) -> Self {
        Self(fastrand::Rng::with_seed(seed))
    }

    /// A number from `range`.
    pub(super) fn number(&mut self, range: std::ops::RangeInclusive<u32>) -> u32 {
        self.0.u32(range)
    }

    /// Yes, this often in a hundred.
    pub(super) fn chance(&mut self, in_a_hundred: u32) -> bool {
        self.0.u32(0..100) < in_a_hundred
    }

    /// One of several.
    pub(super) fn pick<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        self.0.choice(of)
    }

    /// One of several, each as often as its weight says.
    pub(super) fn weighed<T: Copy>(&mut self, of: &[(u32, T)]) -> T {
        let all = of.iter().map(|(weight, _)| weight).sum();
        let mut left = self.0.u32(0..all);
        for (weight, what) in of {
            if left < *weight {
                return *what;
            }
            left -= weight;
        }
        unreachable!("what is drawn is less than all weights together")
    }

    /// A moment of up to `longest`. Short ones are as likely as long ones: each order of magnitude comes as often.
    pub(super) fn moment(&mut self, longest: Duration) -> Duration {
        longest.mul_f64(1000_f64.powf(self.0.f64() - 1.0))
    }

    /// The seed of other dice.
    pub(super) fn seed(&mut self) -> u64 {
        self.0.u64(..)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_makes_the_same_choices() {
        let throw = || {
            let mut dice = Dice::new(7);
            let moments: Vec<_> = (0..9).map(|_| dice.moment(Duration::from_secs(1))).collect();
            (moments, dice.weighed(&[(1, 'a'), (9, 'b')]), dice.seed())
        };
        assert_eq!(throw(), throw());
    }

    #[test]
    fn a_moment_is_never_longer_than_the_longest() {
        let mut dice = Dice::new(1);
        let longest = Duration::from_millis(100);
        assert!((0..1000).all(|_| dice.moment(longest) <= longest));
    }

    #[test]
    fn what_weighs_nothing_is_never_drawn() {
        let mut dice = Dice::new(2);
        assert!((0..1000).all(|_| dice.weighed(&[(0, 'a'), (1, 'b'), (0, 'c')]) == 'b'));
    }
}
