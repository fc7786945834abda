//! The course of virtual time.

use std::cmp::Reverse;

use tasuki_proto::Time;

use super::{Net, What};

impl Net {
    /// Handles the next event; returns false if there is none.
    pub fn step(&mut self) -> bool {
        let Some(Reverse((at, serial))) = self.queue.pop() else { return false };
        self.now = self.now.max(at);
        let what = self.what.remove(&serial);
        if let Some(What::Arrive(host, _) | What::Timer(host)) = &what
            && self.busy_until[*host] > self.now
        {
            let until = self.busy_until[*host];
            if let Some(What::Timer(host)) = &what
                && self.hosts[*host].timer == at
            {
                self.hosts[*host].timer = until;
            }
            self.schedule(until, what.expect("just seen"));
            return true;
        }
        match what {
            Some(What::Arrive(host, bytes)) => {
                let there = &mut self.hosts[host];
                // Dropped packets are counted by the endpoint.
                let _ = match self.lazy {
                    true => there.proto.handle_packet_deferring_ack(Time(self.now), &bytes, &mut there.app),
                    false => there.proto.handle_packet(Time(self.now), &bytes, &mut there.app),
                };
                if there.conn.is_none() || self.hosts[host].app.accepted.len() == 1 {
                    let other = self.hosts[1 - host].local;
                    let found = self.hosts[host].proto.find(other.endpoint, other.incarnation);
                    self.hosts[host].conn = found.or(self.hosts[host].conn);
                }
                self.flush(host);
            }
            Some(What::Timer(host)) if at == self.hosts[host].timer => {
                self.hosts[host].timer = u64::MAX;
                self.hosts[host].proto.handle_timeout(Time(self.now));
                self.flush(host);
            }
            Some(What::Flush(host)) => self.flush(host),
            Some(What::Timer(_)) => {}
            None => {}
        }
        true
    }

    /// Runs for a time.
    pub fn run_us(&mut self, us: u64) {
        let end = self.now + us * 1000;
        while self.queue.peek().is_some_and(|Reverse((at, _))| *at <= end) {
            self.step();
        }
        self.now = end;
    }

    /// Runs until `done`; panics after `ms` of virtual time.
    pub fn run_until(&mut self, ms: u64, what: &str, done: impl Fn(&Net) -> bool) {
        let end = self.now + ms * 1_000_000;
        while !done(self) {
            self.check();
            assert!(self.step() && self.now < end, "not within {ms} ms: {what}\n{}", self.describe());
        }
        self.check();
    }

    /// Runs until all that was sent has been received, and everything is released and drained.
    pub fn settle(&mut self, ms: u64) {
        self.run_until(ms, "all delivered and drained", |net| {
            (0..2).all(|host| {
                let (here, there) = (&net.hosts[host], &net.hosts[1 - host]);
                let all = there.app.messages == here.app.sent();
                let controls = there.app.control_count == here.app.sent_controls();
                let drained = here.conn.is_none_or(|id| here.proto.is_drained(id));
                all && controls && here.app.unreleased() == 0 && drained
            })
        });
    }

    pub fn check(&self) {
        for (at, host) in self.hosts.iter().enumerate() {
            if let Some(fault) = &host.app.fault {
                panic!("host {at}: {fault}\n{}", self.describe());
            }
        }
    }

    pub fn describe(&self) -> String {
        let mut text = format!("at {} us\n", self.now / 1000);
        for (at, host) in self.hosts.iter().enumerate() {
            text += &format!(
                "host {at}: sent {} got {} controls {}/{} unreleased {} events {:?}\n",
                host.app.sent(),
                host.app.messages,
                host.app.sent_controls(),
                host.app.control_count,
                host.app.unreleased(),
                host.events
            );
            if let Some(id) = host.conn {
                text += &host.proto.describe(id);
            }
        }
        text
    }
}
