//! Whole loads in the fabric: queueing theory, conservation, deadlocks, and the published operations.

use super::*;

/// A host whose packets of equal length are generated at random times waits as in M/D/1: rho S / (2 (1 -
/// rho)) (Pollaczek, Khinchine).
#[test]
fn a_source_waits_as_queueing_theory_says() -> Outcome {
    let net = star(8, 4_800_000_000)?;
    for load in [0.3, 0.6, 0.8] {
        let mut fabric = Fabric::new(&net, &minimal(&net)?, Settings::lossless())?;
        let mean = (I as f64 / load) as u64;
        let mut open = Open::new(Pattern::Neighbour.targets(&net)?, 136, mean, 0, 7);
        fabric.run(&mut open, 40_000 * US)?;
        let wait = open.latencies.mean() - (I + 2 * CABLE + SWITCH) as f64;
        let theory = load * I as f64 / (2.0 * (1.0 - load));
        assert!((wait / theory - 1.0).abs() < 0.03, "load {load}: {wait} instead of {theory}");
        assert_eq!(open.transit.most(), I + 2 * CABLE + SWITCH, "nobody meets anybody in the switch");
    }
    Ok(())
}

/// If all hosts send to one, that host's cable delivers its full rate and no more.
#[test]
fn a_cable_gives_what_it_has() -> Outcome {
    for settings in [
        Settings::lossless(),
        Settings { crossbar: Crossbar::PerPort, arbiter: Arbiter::RoundRobin, ..Settings::lossless() },
        Settings {
            room: Room::Lossless { buffer: 4096, flow: FlowControl::GoAndStop { go: 1024 } },
            ..Settings::lossless()
        },
    ] {
        let net = star(9, 4_800_000_000)?;
        let mut fabric = Fabric::new(&net, &minimal(&net)?, settings)?;
        let mut targets = vec![Targets::One(0); 9];
        targets[0] = Targets::None;
        let mut open = Open::new(targets, 136, 2 * I, 100 * US, 3);
        fabric.run(&mut open, 2100 * US)?;
        let share = open.arrived_packets as f64 * I as f64 / (2000.0 * US as f64);
        assert!((0.999..1.001).contains(&share), "{settings:?}: {share}");
    }
    Ok(())
}

/// Every packet arrives once, over as many channels as its path has, with all settings.
#[test]
fn nothing_is_lost_or_doubled() -> Outcome {
    struct Burst(Rng, u64, u64);
    impl Load for Burst {
        fn begin(&mut self, fabric: &mut Fabric) {
            (0..400).for_each(|at| fabric.timer(at * 50_000, 0, 0));
        }
        fn timer(&mut self, fabric: &mut Fabric, _host: u32, _what: u32) {
            let hosts = fabric.hosts();
            for _ in 0..self.0.below(40) {
                let (from, to) = (self.0.index(hosts) as u32, self.0.index(hosts) as u32);
                let bytes = self.0.between(64, 2000) as u32;
                if fabric.send(from, to, bytes, u64::from(bytes)) {
                    self.1 += 1;
                }
            }
        }
        fn arrived(&mut self, _fabric: &mut Fabric, packet: Packet) {
            assert_eq!(u64::from(packet.bytes), packet.tag);
            self.2 += 1;
        }
    }
    let mut rng = Rng::new(11);
    for seed in 0..30 {
        let net = shapes::irregular(12, 20, 6, seed, &Fit::switches(3))?;
        let engine = rng.pick(&[Engine::UpDown, Engine::Lash, Engine::AnyChannels, Engine::Dfsssp]);
        let tables = route(&net, engine, Limits::lossless(8))?;
        let flow = rng.pick(&[FlowControl::Credits, FlowControl::GoAndStop { go: 500 }]);
        let settings = Settings {
            switching: rng.pick(&[Switching::CutThrough, Switching::StoreAndForward]),
            room: Room::Lossless { buffer: rng.pick(&[2000, 2001, 4096, 100_000]), flow },
            crossbar: rng.pick(&[Crossbar::PerChannel, Crossbar::PerPort]),
            arbiter: rng.pick(&[Arbiter::Oldest, Arbiter::RoundRobin]),
            largest: 2000,
            ..Settings::lossless()
        };
        let mut fabric = Fabric::new(&net, &tables, settings)?;
        let mut burst = Burst(Rng::new(seed), 0, 0);
        fabric.run(&mut burst, u64::MAX)?;
        let counts = fabric.counts();
        assert_eq!(
            (burst.1, burst.2, fabric.under_way()),
            (counts.injected, counts.delivered, 0),
            "seed {seed}"
        );
        assert!(burst.1 > 5000);
    }
    Ok(())
}

/// The sum of bytes over all channels is the sum, over all packets, of their length times the channels of
/// their path.
#[test]
fn every_packet_takes_its_path() -> Outcome {
    let net = shapes::torus(&[4, 4], PairRing::OneCable, &Fit::switches(2))?;
    let tables = route(&net, Engine::Structured(PathRule::SpreadPerHost), Limits::lossless(4))?;
    let mut fabric = Fabric::new(&net, &tables, Settings::lossless())?;
    let (mut script, mut rng, mut expected) = (Script::default(), Rng::new(2), vec![0; net.channels()]);
    for _ in 0..2000 {
        let (from, to) = (rng.index(32) as u32, rng.index(32) as u32);
        if from != to {
            script.send.push((from, to, 500));
            for channel in tables.path(&net, tasuki_topo::HostId(from), tasuki_topo::HostId(to))? {
                expected[channel.ix()] += 500;
            }
        }
    }
    fabric.run(&mut script, u64::MAX)?;
    assert_eq!(fabric.passed(), expected);
    assert_eq!(script.came.len(), script.send.len());
    Ok(())
}

/// In a ring whose tables the verifier refutes, packets do get stuck, on channels of the cycle that the
/// verifier names. A ring with tables that the verifier accepts never stops.
#[test]
fn deadlock_is_found_where_it_can_be() -> Outcome {
    let net = shapes::ring(6, &Fit::switches(2))?;
    let engine = Engine::Minimal(PathRule::LowPortFirst);
    let wrong = route(&net, engine, Limits::lossy())?;
    assert!(prove(&net, &wrong, Claims::lossless(1)).is_err(), "one channel on a ring");
    let right = route(&net, engine, Limits::lossless(4))?;
    prove(&net, &right, Claims::lossless(4))?;
    let room = Room::Lossless { buffer: 2048, flow: FlowControl::Credits };
    let settings = Settings { room, ..Settings::lossless() };
    let run = |tables: &Tables| -> Result<u64, FabricError> {
        let mut fabric = Fabric::new(&net, tables, settings)?;
        let mut open = Open::new(Pattern::Uniform.targets(&net)?, 2000, 16 * US, 0, 1);
        fabric.run(&mut open, 100_000 * US)?;
        Ok(fabric.counts().delivered)
    };
    let Err(FabricError::Deadlock(deadlock)) = run(&wrong) else { panic!("a ring with one channel") };
    assert_eq!(deadlock.circle.len(), 6, "{deadlock}");
    for (at, (name, vc)) in deadlock.circle.iter().enumerate() {
        let (next, _) = &deadlock.circle[(at + 1) % 6];
        assert_eq!(*vc, 0);
        let head = name.split("->").nth(1).map(str::to_owned);
        assert_eq!(head, next.split('[').next().map(str::to_owned), "each ends where the next begins");
    }
    assert!(deadlock.to_string().contains("more virtual channels"));
    assert!(run(&right)? > 10_000);
    Ok(())
}

/// The paper's barrier of two hosts, s switches apart, takes two injections, two paths, and four times the
/// time in a host.
#[test]
fn a_barrier_of_two() -> Outcome {
    let times = HostTimes { send: 1_000_000, receive: 1_320_000 };
    for switches in 1..8u64 {
        let net = line(&vec![4_800_000_000; switches as usize + 1])?;
        for shape in [BarrierShape::Multicast, BarrierShape::Tree(2)] {
            let mut fabric = Fabric::new(&net, &minimal(&net)?, Settings::lossless())?;
            let mut barrier = Barrier::new(shape, vec![1, 0], 136, times, 10);
            fabric.run(&mut barrier, u64::MAX)?;
            let hops = (switches + 1) * CABLE + switches * SWITCH;
            assert_eq!(barrier.mean(2), (2 * (I + hops + 2_320_000)) as f64);
            let (share, rounds) = barrier.shares(2);
            let parts = [share.host, share.inject, share.hops, share.wait];
            assert_eq!(parts.map(|part| part / rounds as u64), [2 * 2_320_000, 2 * I, 2 * hops, 0]);
            assert_eq!(share.sum() / rounds as u64, barrier.mean(2) as u64);
        }
    }
    Ok(())
}

/// On one switch every step of a dissemination barrier is a permutation, so no packet waits for a cable.
#[test]
fn dissemination_takes_its_steps() -> Outcome {
    let times = HostTimes { send: 700_000, receive: 500_000 };
    for (hosts, steps) in [(2, 1), (5, 3), (8, 3), (16, 4)] {
        let net = star(hosts, 4_800_000_000)?;
        let mut fabric = Fabric::new(&net, &minimal(&net)?, Settings::lossless())?;
        let mut barrier = Barrier::new(BarrierShape::Dissemination, (0..hosts).collect(), 136, times, 20);
        fabric.run(&mut barrier, u64::MAX)?;
        let step = 1_200_000 + I + 2 * CABLE + SWITCH;
        assert_eq!(barrier.mean(4), (steps * step) as f64, "{hosts}");
    }
    Ok(())
}

/// Table 8 of the paper: without other traffic, a packet and its acknowledgement take the sum of their path
/// and the times in the hosts.
#[test]
fn a_lone_push_takes_the_sum_of_its_parts() -> Outcome {
    let times = PushTimes { send: 2_000_000, turn: 1_500_000, done: 1_690_000, jitter_percent: 0 };
    let net = line(&[4_800_000_000; 4])?;
    for window in [1, 2] {
        let mut fabric = Fabric::new(&net, &minimal(&net)?, Settings::lossless())?;
        let targets = vec![Targets::One(1), Targets::None];
        let mut push = Push::new(targets, (1832, 136), window, times, (1000 * US, 101_000 * US), 1);
        fabric.run(&mut push, 101_000 * US)?;
        let round = 5_190_000 + 3_053_333 + I + 2 * (4 * CABLE + 3 * SWITCH);
        let expected = 1e12 * f64::from(window) / round as f64;
        let got = push.rates()[0];
        assert!((got / expected - 1.0).abs() < 1e-4, "{got} instead of {expected}");
    }
    Ok(())
}

/// The seed alone decides the run.
#[test]
fn a_seed_is_a_run() -> Outcome {
    let net = shapes::mesh(&[4, 4], &Fit::switches(4).rates(4_800_000_000, 4_800_000_000))?;
    let tables = route(&net, Engine::Structured(PathRule::SpreadPerHost), Limits::lossless(16))?;
    let run = |seed| -> Result<_, FabricError> {
        let mut fabric = Fabric::new(&net, &tables, Settings::lossless())?;
        let mut open = Open::new(Pattern::HotSpot(5).targets(&net)?, 136, 2 * I, 0, seed);
        fabric.run(&mut open, 300 * US)?;
        Ok((fabric.counts(), fabric.events(), open.latencies, fabric.passed()))
    };
    assert_eq!(run(1)?, run(1)?);
    assert_ne!(run(1)?, run(2)?);
    Ok(())
}

/// Impossible settings are refused with an error.
#[test]
fn what_cannot_be_is_an_error() -> Outcome {
    let (star, ring) = (star(3, G)?, shapes::ring(5, &Fit::switches(2))?);
    let too_large = Settings { largest: 5000, ..Settings::lossless() };
    let got = Fabric::new(&star, &minimal(&star)?, too_large).err();
    assert_eq!(got, Some(FabricError::PacketTooLarge { bytes: 5000, buffer: 4096 }));
    let got = Fabric::new(&star, &minimal(&ring)?, Settings::lossless()).err();
    assert_eq!(got, Some(FabricError::OtherTables { tables: 10, hosts: 3 }));
    let empty = Tables::new("none", &star, &[]);
    let got = Fabric::new(&star, &empty, Settings::lossless()).err();
    assert!(matches!(got, Some(FabricError::NoWay { .. })), "{got:?}");
    let got = Pattern::Switches(tasuki_topo::bounds::Pattern::Complement).targets(&ring).err();
    assert!(
        got.is_some_and(|error| error.to_string().contains("power") || error.to_string().contains("2, 4, 8"))
    );
    let mut fabric = Fabric::new(&star, &minimal(&star)?, Settings::lossless())?;
    assert!(!fabric.send(0, 0, 100, 0) && !fabric.send(0, 9, 100, 0) && !fabric.send(0, 1, 4000, 0));
    Ok(())
}
