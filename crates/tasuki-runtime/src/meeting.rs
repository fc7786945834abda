//! Tests of how two daemons meet: hosts of a cluster, and others.

use crate::{
    Bundle,
    hub::{Happening, Hub},
    present::Present,
    uplink::{Change, Uplink},
};
use std::{
    thread,
    time::{Duration, Instant},
};
use tasuki_cluster::{
    Cluster,
    generate::{Options, generate},
};
use tasuki_control::{Fence, Hello, Order, Presence, Reply, Report};
use tasuki_testkit::ports::own_port;

fn cluster() -> Cluster {
    generate(&"full:2".parse().expect("a shape"), &Options::default()).expect("a cluster")
}

/// The bundles of two hosts that are both this machine, with new keys.
fn bundles() -> Vec<Bundle> {
    let free = own_port();
    let mut bundles = Bundle::make_all(&cluster(), 1, true).expect("bundles");
    for bundle in &mut bundles {
        bundle.port = free;
        bundle.hosts[0].address = "127.0.0.1".into();
    }
    bundles
}

struct Meeting {
    hub: Hub,
    uplink: Uplink,
    heard: Vec<Happening>,
    orders: Vec<Change>,
}

impl Meeting {
    fn of(head: &Bundle, other: &Bundle, versions: [&str; 2]) -> Self {
        let [ours, theirs] = versions.map(Hello::of);
        let hub = Hub::listen(head, ours).expect("it listens");
        let uplink = Uplink::new(other, theirs).expect("an uplink");
        Self { hub, uplink, heard: Vec::new(), orders: Vec::new() }
    }

    /// Lets both ends work until something holds; false after a limit that keeps a defect from hanging tests.
    fn until(&mut self, limit: Duration, holds: impl Fn(&Self) -> bool) -> bool {
        let end = Instant::now() + limit;
        while Instant::now() < end {
            self.hub.accept();
            let lines: Vec<_> = self.hub.lines().map(|(line, ..)| line).collect();
            lines.into_iter().for_each(|line| self.hub.turn(line));
            self.heard.extend(self.hub.happenings());
            self.uplink.handle_time(Instant::now(), &mut self.orders);
            if self.uplink.socket().is_some() {
                self.uplink.turn(&mut self.orders);
            }
            if self.orders.iter().any(|change| matches!(change, Change::Joined)) {
                self.orders.retain(|change| !matches!(change, Change::Joined));
                self.uplink.send(&Present { cores: 5, memory: 7 }.report(vec![3])).expect("it is short");
            }
            if holds(self) {
                return true;
            }
            thread::sleep(Duration::from_millis(1));
        }
        false
    }
}

const LONG: Duration = Duration::from_secs(30);
/// Long enough for some attempts of an end that is turned away.
const SHORT: Duration = Duration::from_millis(900);

#[test]
fn a_host_of_the_cluster_is_known_by_its_key() {
    let all = bundles();
    let mut meeting = Meeting::of(&all[0], &all[1], ["1", "1"]);
    let present = |heard: &Happening| {
        matches!(heard, Happening::Report(1, Report::Present { cores: 5, memory: 7, .. }))
    };
    assert!(meeting.until(LONG, |meeting| meeting.heard.iter().any(present)));
    assert_eq!(meeting.uplink.absence(), None);
    // A message of many records of TLS arrives whole.
    let long = Reply::Refused("x".repeat(1_000_000));
    meeting.hub.send(1, &Order::Answer { session: 3, reply: long.clone() });
    let wanted = Order::Answer { session: 3, reply: long };
    let is_it = |change: &Change| matches!(change, Change::Order(order) if *order == wanted);
    assert!(meeting.until(LONG, |meeting| meeting.orders.iter().any(is_it)));
}

#[test]
fn a_host_of_another_cluster_of_the_same_names_hears_nothing() {
    let (own, mut other) = (bundles(), bundles());
    other[1].port = own[0].port;
    let mut meeting = Meeting::of(&own[0], &other[1], ["1", "1"]);
    let is_refused =
        |meeting: &Meeting| meeting.uplink.absence().is_some_and(|why| why.contains("certificate"));
    assert!(meeting.until(LONG, is_refused), "{:?}", meeting.uplink.absence());
    assert!(!meeting.until(SHORT, |meeting| !meeting.heard.is_empty() || !meeting.orders.is_empty()));
}

#[test]
fn a_host_that_trusts_the_head_but_has_a_key_of_others_hears_nothing() {
    let (own, other) = (bundles(), bundles());
    let mut thief = own[1].clone();
    thief.key = other[1].key.clone();
    thief.hosts[1].certificate = other[1].hosts[1].certificate.clone();
    let mut meeting = Meeting::of(&own[0], &thief, ["1", "1"]);
    assert!(!meeting.until(SHORT, |meeting| !meeting.heard.is_empty() || !meeting.orders.is_empty()));
}

#[test]
fn a_host_that_is_left_out_is_not_heard_any_more() {
    let (own, other) = (bundles(), bundles());
    let mut head = own[0].clone();
    head.hosts[1].certificate = other[1].hosts[1].certificate.clone();
    let mut meeting = Meeting::of(&head, &own[1], ["1", "1"]);
    assert!(!meeting.until(SHORT, |meeting| !meeting.heard.is_empty()));
}

#[test]
fn another_version_is_named_at_both_ends() {
    let all = bundles();
    let mut meeting = Meeting::of(&all[0], &all[1], ["1.0", "2.0"]);
    let wanted = Presence::Other("tasuki 2.0".into());
    let other = |heard: &Happening| matches!(heard, Happening::Lost(1, presence) if *presence == wanted);
    assert!(meeting.until(LONG, |meeting| meeting.heard.iter().any(other)));
    let is_named =
        |meeting: &Meeting| meeting.uplink.absence().is_some_and(|why| why.contains("runs tasuki 1.0"));
    assert!(meeting.until(LONG, is_named), "{:?}", meeting.uplink.absence());
}

/// Two hosts that have met, whose first words are all read.
fn met() -> Meeting {
    let all = bundles();
    let mut meeting = Meeting::of(&all[0], &all[1], ["1", "1"]);
    let present = |heard: &Happening| matches!(heard, Happening::Report(1, Report::Present { .. }));
    assert!(meeting.until(LONG, |meeting| meeting.heard.iter().any(present)));
    meeting.hub.send(1, &Order::Forget { job: 9 });
    let last = |change: &Change| matches!(change, Change::Order(Order::Forget { job: 9 }));
    assert!(meeting.until(LONG, |meeting| meeting.orders.iter().any(last)));
    meeting.heard.clear();
    meeting.orders.clear();
    meeting
}

fn is_lost(heard: &Happening) -> bool {
    matches!(heard, Happening::Lost(..) | Happening::Away(..))
}

/// Longer than an end may be silent.
const STALL: Duration = Duration::from_secs(11);
/// Longer than an end that has nothing else to say waits until it says that it is there.
const BEAT: Duration = Duration::from_secs(2);

#[test]
fn hosts_that_spoke_while_the_head_was_held_up_are_not_lost() {
    let mut meeting = met();
    let now = Instant::now();
    meeting.uplink.handle_time(now + BEAT, &mut meeting.orders);
    meeting.hub.handle_time(now + STALL);
    let heard = meeting.hub.happenings();
    assert!(!heard.iter().any(is_lost));
    assert!(heard.iter().any(|heard| matches!(heard, Happening::Report(1, Report::Beat))));
    // One that has said nothing meanwhile is lost.
    meeting.hub.handle_time(now + 2 * STALL);
    assert!(matches!(meeting.hub.happenings()[..], [Happening::Lost(1, Presence::Lost(_))]));
}

#[test]
fn a_head_that_spoke_while_the_host_was_held_up_is_not_given_up() {
    let mut meeting = met();
    let now = Instant::now();
    meeting.hub.handle_time(now + BEAT);
    meeting.uplink.handle_time(now + STALL, &mut meeting.orders);
    assert!(matches!(meeting.orders[..], [Change::Order(Order::Beat)]));
    meeting.orders.clear();
    meeting.uplink.handle_time(now + 2 * STALL, &mut meeting.orders);
    assert!(matches!(meeting.orders[..], [Change::Lost]));
}

/// What ranks have put, longer than a message may be.
fn long() -> Fence {
    Fence { group: String::new(), number: 1, puts: vec![("key".into(), "x".repeat(5 << 20))] }
}

#[test]
fn an_order_that_is_too_long_ends_its_job_and_not_the_connection() {
    let mut meeting = met();
    meeting.hub.send(1, &Order::Fenced { job: 7, fence: long() });
    meeting.hub.send(1, &Order::Answer { session: 3, reply: Reply::Refused("x".repeat(5 << 20)) });
    meeting.hub.send(1, &Order::Thaw { job: 8 });
    let last = |change: &Change| matches!(change, Change::Order(Order::Thaw { job: 8 }));
    assert!(meeting.until(LONG, |meeting| meeting.orders.iter().any(last)));
    assert!(!meeting.heard.iter().any(is_lost));
    let broken = |heard: &Happening| match heard {
        Happening::Report(1, Report::Broken { job: 7, why, .. }) => why.contains("longer than 4194304"),
        _ => false,
    };
    assert!(meeting.heard.iter().any(broken));
    // A command whose answer is too long does not wait for ever.
    let refused = |change: &Change| match change {
        Change::Order(Order::Answer { session: 3, reply: Reply::Refused(why) }) => why.len() < 200,
        _ => false,
    };
    assert!(meeting.orders.iter().any(refused));
}

#[test]
fn a_report_that_is_too_long_ends_its_job() {
    let mut meeting = met();
    let too_long = meeting.uplink.send(&Report::Fence { job: 7, fence: long() });
    assert!(too_long.is_err_and(|why| why.contains("longer than 4194304")));
    let broken = |heard: &Happening| match heard {
        Happening::Report(1, Report::Broken { job: 7, why, .. }) => why.contains("too long"),
        _ => false,
    };
    assert!(meeting.until(LONG, |meeting| meeting.heard.iter().any(broken)));
    assert!(!meeting.heard.iter().any(is_lost));
}
