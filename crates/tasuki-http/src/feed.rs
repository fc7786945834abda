//! Events for all that want them. Only the latest is kept, so that neither many clients nor slow ones take
//! memory: who is slow misses some.

use std::{
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// The latest event, and how many clients wait for the next one.
#[derive(Debug, Default)]
struct Latest {
    /// Number of events so far.
    number: u64,
    text: Arc<str>,
    subscriptions: usize,
    is_over: bool,
}

#[derive(Debug, Default)]
struct Shared {
    latest: Mutex<Latest>,
    changed: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Latest> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where events come from. When it is dropped, its subscriptions end.
#[derive(Debug)]
pub struct Feed {
    shared: Arc<Shared>,
    subscriptions_max: usize,
}

impl Feed {
    /// A feed that so many clients may have at the same time.
    pub fn new(subscriptions_max: usize) -> Self {
        Self { shared: Arc::default(), subscriptions_max }
    }

    /// Gives all subscriptions a text of one line.
    pub fn publish(&self, text: impl Into<Arc<str>>) {
        let mut latest = self.shared.lock();
        latest.number += 1;
        latest.text = text.into();
        self.shared.changed.notify_all();
    }

    /// Wants events from the latest one on; `None`: too many clients do already.
    pub fn subscribe(&self) -> Option<Subscription> {
        let mut latest = self.shared.lock();
        if latest.subscriptions >= self.subscriptions_max {
            return None;
        }
        latest.subscriptions += 1;
        Some(Subscription { shared: Arc::clone(&self.shared), seen: 0 })
    }

    /// How many clients want events.
    pub fn subscriptions(&self) -> usize {
        self.shared.lock().subscriptions
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.shared.lock().is_over = true;
        self.shared.changed.notify_all();
    }
}

/// Wants the events of a [`Feed`].
#[derive(Debug)]
pub struct Subscription {
    shared: Arc<Shared>,
    /// Number of the event that was given last.
    seen: u64,
}

/// What a subscription has for its client.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// An event.
    Event(Arc<str>),
    /// Nothing has happened.
    Nothing,
    /// There will be no more.
    End,
}

impl Subscription {
    /// The latest event if it has not been given yet, or the next one, which is waited for no longer than
    /// `limit`.
    pub(crate) fn next(&mut self, limit: Duration) -> Next {
        let end = Instant::now() + limit;
        let mut latest = self.shared.lock();
        loop {
            if latest.number != self.seen {
                self.seen = latest.number;
                return Next::Event(Arc::clone(&latest.text));
            }
            let left = end.saturating_duration_since(Instant::now());
            if latest.is_over || left.is_zero() {
                return if latest.is_over { Next::End } else { Next::Nothing };
            }
            latest = self.shared.changed.wait_timeout(latest, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.shared.lock().subscriptions -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn a_slow_client_gets_the_latest_event_and_every_client_gets_the_end() {
        let feed = Feed::new(2);
        let mut one = feed.subscribe().expect("there is room");
        let mut slow = feed.subscribe().expect("there is room");
        assert!(feed.subscribe().is_none(), "two are the most");
        assert_eq!(one.next(Duration::ZERO), Next::Nothing);
        feed.publish("a");
        assert_eq!(one.next(LONG), Next::Event("a".into()));
        feed.publish("b");
        assert_eq!(slow.next(LONG), Next::Event("b".into()));
        assert_eq!(slow.next(Duration::ZERO), Next::Nothing, "it is given once");
        drop(slow);
        let mut late = feed.subscribe().expect("there is room again");
        assert_eq!(late.next(LONG), Next::Event("b".into()), "the latest is there from the beginning");
        assert_eq!(feed.subscriptions(), 2);
        drop(feed);
        assert_eq!([one.next(LONG), one.next(LONG)], [Next::Event("b".into()), Next::End]);
    }
}
