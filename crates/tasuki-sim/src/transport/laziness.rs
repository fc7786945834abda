//! Engines that let the actions of the message layer wait.

use crate::Rng;

/// How often engines handle more frames before they look at the actions of the message layer.
pub(crate) struct Laziness {
    percent: u64,
    dice: Rng,
}

impl Default for Laziness {
    fn default() -> Laziness {
        Laziness::new(0, Rng::new(0))
    }
}

impl Laziness {
    /// Engines are lazy in so many percent of cases.
    pub fn new(percent: u64, dice: Rng) -> Laziness {
        Laziness { percent, dice }
    }

    /// Whether the engine is lazy this time.
    pub fn draw(&mut self) -> bool {
        self.percent > 0 && self.dice.chance(self.percent)
    }
}
