//! Random schedules: any faults at any time, then none; everything must have arrived exactly once.
//! `TASUKI_PROTO_SEEDS=n` runs n seeds, `TASUKI_PROTO_SEED=s` replays one.

use tasuki_proto::Config;

use tasuki_random::Random;
use tasuki_testkit::replay::Replay;

use crate::net::{Link, Net};

const REPLAY: Replay = Replay {
    variable: "TASUKI_PROTO_SEED",
    command: "cargo test -p tasuki-proto --test suite random_schedules",
};

fn links(rng: &mut Random) -> Vec<Link> {
    (0..1 + rng.below(4))
        .map(|_| {
            let mut link = Link::new([100, 1000, 10_000][rng.below(3) as usize], 5 + rng.below(300), 64);
            if rng.per_mille(300) {
                link.loss = rng.below(200);
            }
            if rng.per_mille(300) {
                link.dup = rng.below(200);
            }
            if rng.per_mille(300) {
                link.reorder = rng.below(300);
            }
            if rng.per_mille(300) {
                link.corrupt = rng.below(100);
            }
            link
        })
        .collect()
}

fn disturb(net: &mut Net, rng: &mut Random, rails: u8) {
    let rail = rng.below(u64::from(rails)) as u8;
    match rng.below(8) {
        0 => net.both(rail, |link| link.dead = !link.dead),
        1 => {
            let link = net.links.get_mut(&(rng.below(2) as usize, rail)).expect("a rail");
            link.dead = !link.dead;
        }
        2 => net.eat[rng.below(2) as usize] = rng.below(20),
        3 => {
            let hole = [1300, usize::MAX][rng.below(2) as usize];
            net.both(rail, |link| link.hole = hole);
        }
        // The report of the carrier may be right or wrong, and remains to the end.
        4 | 5 => net.set_carrier(rng.below(2) as usize, rail, rng.per_mille(400)),
        _ => {}
    }
}

/// Runs one seed; returns the number of packets of the first host.
pub fn run(seed: u64) -> u64 {
    let mut rng = Random::new(seed);
    let links = links(&mut rng);
    let rails = links.len() as u8;
    let mtu = [1500, 9000][rng.below(2) as usize];
    let mut net = Net::with_mtu(seed, &links, rng.per_mille(500), mtu, &Config::default());
    if rng.per_mille(500) {
        net.restart(1, 200, &Config::default());
    }
    net.lazy = rng.per_mille(500);
    // The doubts have a generator of their own, so that all other seeds go on to mean the same schedules.
    let mut doubts = (seed % 5 == 2).then(|| Random::new(!seed));
    let hole_first = rng.per_mille(300);
    if hole_first {
        net.both(rng.below(u64::from(rails)) as u8, |link| link.hole = 1300);
    }
    for _ in 0..rng.below(60) {
        let host = rng.below(2) as usize;
        let later = rng.per_mille(500);
        for _ in 0..rng.below(6) {
            let len = [rng.below(64), rng.below(4000), rng.below(200_000)][rng.below(3) as usize];
            if later { net.send_later(host, len) } else { net.send(host, len) }
        }
        for _ in 0..if later { rng.below(30) } else { 0 } {
            net.send_later(host, rng.below(300));
        }
        if rng.per_mille(400) {
            net.send_control(host);
        }
        if rng.per_mille(200) {
            disturb(&mut net, &mut rng, rails);
        }
        if let Some(doubts) = &mut doubts
            && doubts.per_mille(300)
        {
            net.probe_peer(doubts.below(2) as usize);
        }
        let pause = [10, 1000, 20_000][rng.below(3) as usize];
        net.run_us(rng.below(pause));
        net.check();
    }
    net.eat = [0; 2];
    for rail in 0..rails {
        net.both(rail, |link| {
            (link.dead, link.loss, link.corrupt, link.hole) = (false, 0, 0, link.hole.max(1300));
        });
    }
    // A peer that has never sent anything must be spoken to first.
    net.send(0, 1);
    if net.hosts[1].conn.is_some() {
        net.send(1, 1);
    } else {
        net.run_us(1_000_000);
        net.connect(1);
        net.pump(1);
    }
    net.settle(30_000);
    net.run_us(1_000_000);
    net.check();
    close(&mut net);
    net.hosts[0].packets
}

/// Both sides close; as nothing else is to be sent, they wait only for each other.
fn close(net: &mut Net) {
    for host in 0..2 {
        let id = net.conn(host);
        net.hosts[host].proto.close(id);
        net.flush(host);
    }
    net.run_us(2_500_000);
    for host in 0..2 {
        let found = net.hosts[host].proto.find(11 - host as u32, [200, 100][host]);
        assert_eq!(found, None, "{}", net.describe());
    }
}

#[test]
fn random_schedules() {
    REPLAY.each(400, |seed| {
        run(seed);
    });
}

#[test]
fn a_seed_replays_exactly() {
    for seed in 0..20 {
        assert_eq!(run(seed), run(seed), "seed {seed}");
    }
}
