//! How long a program that polls keeps the processor to itself.
//!
//! With a core for every rank, polling without pause answers soonest. With more ranks than cores the one that polls keeps away the
//! one it waits for. Which of the two it is nobody needs to tell: a yield that takes long has let somebody else run.

use std::time::Duration;

/// Decides after how many rounds without anything new the processor is offered to others.
pub(crate) struct Patience {
    idle: u32,
    limit: u32,
}

/// Rounds when others want the processor: a microsecond.
const SHORT: u32 = 2;
/// Rounds when nobody does.
const LONG: u32 = 192;
/// A yield that nobody takes up returns sooner.
const TAKEN_UP: Duration = Duration::from_micros(5);

impl Patience {
    pub fn new() -> Patience {
        Patience { idle: 0, limit: LONG }
    }

    /// A round is over; true if it is time to offer the processor to others.
    pub fn is_over(&mut self, busy: bool) -> bool {
        self.idle = if busy { 0 } else { self.idle + 1 };
        let over = self.idle > self.limit;
        if over {
            // An offer takes as long as several rounds, so it is not made in each; with a crowd it is.
            self.idle -= self.limit / 4;
        }
        over
    }

    /// How long the offer took. It takes many that nobody takes up to believe that the crowd has gone.
    pub fn offered(&mut self, took: Duration) {
        self.limit = if took > TAKEN_UP { SHORT } else { (self.limit + 1).min(LONG) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crowd_shortens_it_and_it_grows_again() {
        let mut patience = Patience::new();
        let rounds = |patience: &mut Patience| {
            patience.is_over(true);
            (1..).find(|_| patience.is_over(false)).expect("patience ends")
        };
        assert_eq!(rounds(&mut patience), LONG + 1);
        patience.offered(TAKEN_UP * 2);
        assert_eq!(rounds(&mut patience), SHORT + 1);
        patience.offered(TAKEN_UP / 2);
        assert_eq!(rounds(&mut patience), SHORT + 2);
    }

    #[test]
    fn offers_are_repeated() {
        let mut patience = Patience::new();
        let offers = |patience: &mut Patience| (0..1000).filter(|_| patience.is_over(false)).count();
        assert_eq!(offers(&mut patience), 1 + (1000 - LONG as usize - 1) / (LONG as usize / 4));
        patience.offered(TAKEN_UP * 2);
        assert_eq!(offers(&mut patience), 1000);
    }
}
