//! Against OpenSM, the subnet manager of InfiniBand, which routes a fabric that ibsim simulates: paths,
//! reachability, channel needs. `scripts/oracles` unpacks both; without them the tests are skipped.

mod common;

use common::{exhaustive, irregular, oracle::opensm::OpenSm};
use tasuki_topo::shapes::{self, ClosHosts, Fit, PairRing};
use tasuki_topo::{Engine, Kind, Limits, Network, PathRule, Report, Start, route, verify};

/// The routes of OpenSM and ours by one algorithm, as our verifier sees the tables with one channel, and the
/// channels that each needs.
struct Both {
    theirs: (Report, Option<u32>),
    ours: (Report, u32),
}

fn both(opensm: &OpenSm, net: &Network, name: &str, engine: Engine) -> Both {
    let (tables, lanes) = opensm.route(net, name);
    let theirs = verify(net, &tables, 3);
    let circle = theirs.circle.as_ref().map(Vec::len);
    assert_eq!(circle, exhaustive(net, &tables).smallest_circle, "{}, {name}", net.name());
    let limits = Limits::lossless(u8::MAX);
    let ours = route(net, engine, if engine == Engine::UpDown { Limits::lossless(1) } else { limits });
    let mut ours = ours.unwrap_or_else(|error| panic!("{}, {name}: {error}", net.name()));
    let report = verify(net, &ours, 3);
    let channels = report.vcs;
    ours.set_starts(Start::Zero);
    Both { theirs: (theirs, lanes), ours: (verify(net, &ours, 3), channels) }
}

/// Results that may differ between OpenSM and us.
struct Differs {
    /// Channels that (they, we) need for LASH and DFSSSP.
    lanes: [(u32, u32); 2],
    /// Whether their up*/down* tables have a circle.
    circle: bool,
    /// Cables over all their up*/down* paths, and over ours.
    cables: (u64, u64),
}

/// Compares everything that must agree, for one network.
fn compare(opensm: &OpenSm, net: &Network) -> Differs {
    let what = net.name();
    let minimal = Engine::Minimal(PathRule::SpreadPerHost);
    let both = |name: &str, engine: Engine| {
        let both = both(opensm, net, name, engine);
        for (report, who) in [(&both.theirs.0, "OpenSM"), (&both.ours.0, "Tasuki")] {
            assert_eq!((report.delivered, report.faulty), (report.pairs, 0), "{what}, {name}, {who}");
        }
        both
    };
    // Both claim shortest paths: the sum of all lengths must agree to the cable.
    let found = both("minhop", minimal);
    let shortest = found.ours.0.cables;
    assert_eq!((found.theirs.0.cables, found.theirs.0.longer), (shortest, 0), "{what}, minhop");
    // Up*/down* from the same root. Ours never has a circle. OpenSM looks for the shortest legal path from
    // each switch by itself; where packets come to it from above and it sends them up again, its tables do
    // have a circle (an exhaustive search finds it too).
    let found = both("updn", Engine::UpDown);
    assert!(found.ours.0.circle.is_none(), "{what}, updn: {:?}", found.ours.0.circle);
    let (circle, cables) = (found.theirs.0.circle.is_some(), (found.theirs.0.cables, found.ours.0.cables));
    assert!((cables.0 as f64 / cables.1 as f64 - 1.0).abs() < 0.1, "{what}, updn: {cables:?}");
    let mut lanes = [(0, 0); 2];
    for (at, (name, engine)) in [("lash", Engine::Lash), ("dfsssp", Engine::Dfsssp)].into_iter().enumerate() {
        let found = both(name, engine);
        assert_eq!((found.theirs.0.cables, found.ours.0.cables), (shortest, shortest), "{what}, {name}");
        let theirs = found.theirs.1.unwrap_or_else(|| panic!("{what}, {name}: OpenSM names no number"));
        // OpenSM says whether one channel is enough; our verifier must find the same of its tables.
        // (DFSSSP also lays the paths to switches into its channels, which no host asks for.)
        let circle = found.theirs.0.circle.is_some();
        assert!(
            if name == "lash" { circle == (theirs > 1) } else { !circle || theirs > 1 },
            "{what}, {name}: {theirs}"
        );
        lanes[at] = (theirs, found.ours.1);
    }
    Differs { lanes, circle, cables }
}

fn regular() -> Vec<Network> {
    let two = Fit::switches(2);
    let one = PairRing::OneCable;
    [
        shapes::ring(7, &two),
        shapes::torus(&[4, 4], one, &two),
        shapes::torus(&[5, 5], one, &two),
        shapes::hypercube(4, &two),
        shapes::fat_tree(2, 4, 1, &Fit::switches(4)),
        shapes::myrinet_clos(4, ClosHosts::Both, &two),
        shapes::petersen(&two),
    ]
    .into_iter()
    .map(|net| net.unwrap_or_else(|error| panic!("{error}")))
    .collect()
}

#[test]
fn agrees_with_opensm_on_known_shapes() {
    let Some(opensm) = OpenSm::find("agrees_with_opensm_on_known_shapes") else { return };
    for net in regular() {
        let Differs { lanes, circle, cables } = compare(&opensm, &net);
        assert!(!circle && cables.1 <= cables.0, "{}: {cables:?}", net.name());
        println!(
            "{:<24} channels, OpenSM and Tasuki: LASH {:?}, DFSSSP {:?}",
            net.name(),
            lanes[0],
            lanes[1]
        );
        for (theirs, ours) in lanes {
            assert!(ours <= theirs + 1, "{}: {lanes:?}", net.name());
        }
    }
}

/// Run with `cargo test --release -p tasuki-topo --test opensm -- --ignored --nocapture`.
#[test]
#[ignore = "long: 40 networks, four routings each"]
fn agrees_with_opensm_on_irregular_networks() {
    let Some(opensm) = OpenSm::find("agrees_with_opensm_on_irregular_networks") else { return };
    let switched = |net: &Network| net.nodes().iter().all(|node| node.kind != Kind::Relay);
    let (mut sums, mut circles, mut longer) = ([[0, 0]; 2], 0, 0.0f64);
    for net in (0..).map(irregular).filter(switched).take(40) {
        let Differs { lanes, circle, cables } = compare(&opensm, &net);
        circles += u32::from(circle);
        longer = longer.max(cables.1 as f64 / cables.0 as f64 - 1.0);
        for (sum, (theirs, ours)) in sums.iter_mut().zip(lanes) {
            assert!(ours <= theirs + 1, "{}: {ours} channels against {theirs}", net.name());
            *sum = [sum[0] + theirs, sum[1] + ours];
        }
    }
    println!("channels of 40 networks, OpenSM and Tasuki: LASH {:?}, DFSSSP {:?}", sums[0], sums[1]);
    println!(
        "OpenSM's up*/down* tables with a circle: {circles} of 40; ours are up to {:.1} % longer",
        longer * 100.0
    );
}
