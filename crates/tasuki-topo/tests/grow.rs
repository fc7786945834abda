//! Growing cablings against an exhaustive search, and properties of all grown cablings.

use tasuki_testkit::replay::Replay;
use tasuki_topo::grow::{Grown, Site, grow, most_moves};
use tasuki_topo::{SplitMix64, shapes};

const EFFORT: u64 = 20_000_000;

/// A site: numbers of old and new hosts, the ports of each switch, ports of every host, and the existing
/// cables.
fn site(old: usize, new: usize, nics: usize, switches: &[usize], cables: &[(usize, usize)]) -> Site {
    let hosts = old + new;
    let ports = (0..hosts).map(|_| nics).chain(switches.iter().copied()).collect();
    Site { old_hosts: old, relays: vec![true; hosts], ports, cables: cables.to_vec() }
}

/// A site's cost as the documentation defines it, with distances by Floyd and Warshall: no code of the
/// search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Cost {
    apart: u64,
    idle: usize,
    excess: usize,
    sum: u64,
    moved: usize,
}

fn degrees(parts: usize, cables: &[(usize, usize)]) -> Vec<usize> {
    (0..parts).map(|part| cables.iter().filter(|(a, b)| *a == part || *b == part).count()).collect()
}

/// Cables of the first list that the second one lacks, each taken out once.
fn lacking(old: &[(usize, usize)], new: &[(usize, usize)]) -> usize {
    let mut left: Vec<(usize, usize)> = new.iter().map(|&(a, b)| (a.min(b), a.max(b))).collect();
    let gone = |&&(a, b): &&(usize, usize)| match left.iter().position(|&cable| cable == (a.min(b), a.max(b)))
    {
        Some(at) => {
            left.swap_remove(at);
            false
        }
        None => true,
    };
    old.iter().filter(gone).count()
}

fn cost(site: &Site, cables: &[(usize, usize)], free_moves: usize) -> Cost {
    const FAR: u64 = 1 << 20;
    let (parts, hosts) = (site.ports.len(), site.relays.len());
    let mut far = vec![vec![FAR; parts]; parts];
    for &(a, b) in cables {
        (far[a][b], far[b][a]) = (1, 1);
    }
    for k in (0..parts).filter(|&k| k >= hosts || site.relays[k]) {
        for i in 0..parts {
            for j in 0..parts {
                far[i][j] = far[i][j].min(far[i][k] + far[k][j]);
            }
        }
    }
    let pairs = || (0..hosts).flat_map(|i| (0..hosts).map(move |j| (i, j))).filter(|(i, j)| i != j);
    let apart = pairs().filter(|&(i, j)| far[i][j] >= FAR).count() as u64;
    let sum = pairs().map(|(i, j)| far[i][j]).filter(|&far| far < FAR).sum();
    let (before, after) = (degrees(parts, &site.cables), degrees(parts, cables));
    let lost: usize = (0..site.old_hosts).map(|host| before[host].saturating_sub(after[host])).sum();
    let idle = lost + (site.old_hosts..hosts).map(|host| site.ports[host] - after[host]).sum::<usize>();
    let moved = lacking(&site.cables, cables);
    Cost { apart, idle, excess: moved.saturating_sub(free_moves), sum, moved }
}

/// The least cost of all possible cablings: every pair of parts with no, one, two... cables, as far as the
/// ports and the rules allow.
struct Exhaustive<'a> {
    site: &'a Site,
    free_moves: usize,
    pairs: Vec<(usize, usize)>,
    free: Vec<usize>,
    cables: Vec<(usize, usize)>,
    best: Option<Cost>,
    seen: u64,
}

impl Exhaustive<'_> {
    fn best(site: &Site, free_moves: usize) -> (Cost, u64) {
        let parts = site.ports.len();
        let pairs = (0..parts).flat_map(|a| (a + 1..parts).map(move |b| (a, b))).collect();
        let (free, cables) = (site.ports.clone(), Vec::new());
        let mut this = Exhaustive { site, free_moves, pairs, free, cables, best: None, seen: 0 };
        this.pair(0);
        (this.best.expect("no cable at all is a cabling"), this.seen)
    }

    fn pair(&mut self, at: usize) {
        let Some(&(a, b)) = self.pairs.get(at) else {
            self.seen += 1;
            let cost = cost(self.site, &self.cables, self.free_moves);
            // Fewer hosts apart come first, so a distance over pairs that have a way compares among equals
            // only.
            self.best = Some(self.best.map_or(cost, |best| best.min(cost)));
            return;
        };
        let hosts = self.site.relays.len();
        let there = self.site.cables.iter().filter(|&&(c, d)| (c.min(d), c.max(d)) == (a, b)).count();
        let (least, most) = match (a < hosts, b < hosts) {
            (true, true) => (0, there.max(1)),
            // One pair of switches at most in these sites, so that no circle can arise.
            (false, false) => (there, there.max(1)),
            _ => (0, usize::MAX),
        };
        for count in 0..=most.min(self.free[a]).min(self.free[b]) {
            if count >= least {
                (self.free[a], self.free[b]) = (self.free[a] - count, self.free[b] - count);
                self.cables.extend(std::iter::repeat_n((a, b), count));
                self.pair(at + 1);
                self.cables.truncate(self.cables.len() - count);
                (self.free[a], self.free[b]) = (self.free[a] + count, self.free[b] + count);
            }
        }
    }
}

fn found(site: &Site, free_moves: usize, seed: u64) -> Grown {
    let found = grow(site, free_moves, seed, EFFORT).unwrap_or_else(|error| panic!("{site:?}: {error}"));
    let used = degrees(site.ports.len(), &found.cables);
    assert!(used.iter().zip(&site.ports).all(|(used, ports)| used <= ports), "{site:?}: {found:?}");
    let counted = cost(site, &found.cables, free_moves);
    let says = Cost { apart: found.apart, idle: found.idle, sum: found.sum, moved: found.moved, ..counted };
    assert_eq!(says.apart, counted.apart, "{site:?}");
    if counted.apart == 0 {
        assert_eq!(says, counted, "{site:?}: {found:?}");
    }
    found
}

/// No possible cabling is better than the one that the search finds: with no free move, one, two, and as many
/// as adding one host after the other takes.
#[test]
fn no_cabling_is_better() {
    let ring4 = [(0, 1), (1, 2), (2, 3), (3, 0)];
    let full4 = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)];
    let star = |hosts: usize| (0..3).map(|host| (host, hosts)).collect::<Vec<_>>();
    let mut sites = vec![
        ("full four, one more", site(4, 1, 3, &[], &full4)),
        ("full four, two more", site(4, 2, 3, &[], &full4)),
        ("full four, three more", site(4, 3, 3, &[], &full4)),
        ("ring of four, two more", site(4, 2, 2, &[], &ring4)),
        ("ring of four, three more", site(4, 3, 2, &[], &ring4)),
        ("ring of four, a third port each, two more", site(4, 2, 3, &[], &ring4)),
        ("two cables between two, two more", site(2, 2, 2, &[], &[(0, 1), (0, 1)])),
        ("one pair, three more with two ports", site(2, 3, 2, &[], &[(0, 1)])),
        ("switch with two free ports", site(3, 2, 1, &[5], &star(5))),
        ("switch that is full, two ports each", site(3, 2, 2, &[3], &star(5))),
        ("a second switch", site(3, 2, 1, &[3, 4], &star(5))),
        ("a switch, one cable beside it", site(3, 1, 2, &[4], &[(0, 4), (1, 4), (2, 4), (0, 1)])),
        ("nothing fits", site(3, 1, 1, &[3], &star(4))),
    ];
    let mut silent = site(4, 2, 2, &[], &ring4);
    silent.relays[2] = false;
    sites.push(("one that does not relay", silent));
    for (what, site) in &sites {
        for free_moves in [0, 1, 2, most_moves(site)] {
            let (best, seen) = Exhaustive::best(site, free_moves);
            let found = found(site, free_moves, 1);
            let ours = cost(site, &found.cables, free_moves);
            println!("{what}, {free_moves} free: {seen} cablings, least {best:?}");
            assert_eq!(
                (ours.apart, ours.idle, ours.excess),
                (best.apart, best.idle, best.excess),
                "{what}: {found:?}"
            );
            if best.apart == 0 {
                assert_eq!(ours, best, "{what}, {free_moves} free: {found:?}");
            }
        }
    }
}

/// Random cablings of three to five hosts, with and without a switch, grown by one to three.
#[test]
fn no_cabling_of_random_small_sites_is_better() {
    let replay = Replay {
        variable: "TASUKI_SEED",
        command: "cargo test --release -p tasuki-topo --test grow -- --nocapture random_small",
    };
    let mut random = SplitMix64::new(replay.one(|| 20_240_611));
    for round in 0..24 {
        let (old, new, nics) = (3 + random.below(3), 1 + random.below(2), 1 + random.below(3));
        let switches = if random.below(2) == 0 { vec![] } else { vec![1 + random.below(5)] };
        let mut site = site(old, new, nics, &switches, &[]);
        let there: Vec<usize> = (0..old).chain(old + new..site.ports.len()).collect();
        let mut free = site.ports.clone();
        for _ in 0..12 {
            let (a, b) = (there[random.below(there.len())], there[random.below(there.len())]);
            let double = a.max(b) < old && site.cables.contains(&(a.min(b), a.max(b)));
            if a != b && !double && free[a] > 0 && free[b] > 0 {
                site.cables.push((a.min(b), a.max(b)));
                (free[a], free[b]) = (free[a] - 1, free[b] - 1);
            }
        }
        site.relays[random.below(old)] = random.below(3) > 0;
        for free_moves in [0, most_moves(&site)] {
            let (best, _) = Exhaustive::best(&site, free_moves);
            let found = found(&site, free_moves, round);
            let ours = cost(&site, &found.cables, free_moves);
            let same = if best.apart == 0 { ours == best } else { ours.apart == best.apart };
            assert!(
                same,
                "round {round}, {free_moves} free, {site:?}:\n{ours:?} instead of {best:?}: {found:?}"
            );
        }
    }
}

/// Counting gives a lower bound of the moves: `k` new hosts have at most `k (k - 1) / 2` cables among
/// themselves. Each of their other ports takes a free port, or one of the two that a moved cable frees; and
/// at least one cable is moved if no port is free. The search reaches this bound on random regular graphs of
/// 8 to 48 hosts.
#[test]
fn as_few_are_moved_as_counting_allows() {
    for (old, degree, new) in
        [(8, 3, 1), (8, 3, 2), (8, 3, 3), (16, 4, 4), (16, 4, 8), (32, 5, 3), (48, 6, 16)]
    {
        let regular = shapes::random_regular(old as u32, degree as u32, 7, &shapes::Fit::relays()).unwrap();
        let ends = |link: &tasuki_topo::Link| (link.ends[0].0.0 as usize, link.ends[1].0.0 as usize);
        let cables: Vec<(usize, usize)> = regular.links().iter().map(ends).collect();
        let site = site(old, new, degree, &[], &cables);
        let outside = (new * degree).saturating_sub(new * (new - 1));
        // If only one port is left over, no move for it alone gains anything.
        let least = (outside / 2).max(1);
        let few = found(&site, 0, 1);
        assert_eq!((few.apart, few.idle, few.moved), (0, new * degree % 2, least), "{old} {degree} {new}");
        let short = found(&site, most_moves(&site), 1);
        assert!(short.moved <= most_moves(&site) && short.sum <= few.sum && short.idle == few.idle);
        println!(
            "{old} hosts of {degree} ports, {new} more: {} moved for {}, {} for {}",
            few.moved, few.sum, short.moved, short.sum
        );
        assert_eq!(few, found(&site, 0, 1), "the same seed gives the same cabling");
    }
}

#[test]
fn wrong_sites_are_refused() {
    let good = site(2, 1, 2, &[4], &[(0, 1)]);
    assert!(grow(&good, 0, 1, 1_000).is_ok());
    let mut many = good.clone();
    many.cables = vec![(0, 1); 3];
    let mut unknown = good.clone();
    unknown.cables = vec![(0, 7)];
    let mut new = good.clone();
    new.cables = vec![(0, 2)];
    let mut old = good.clone();
    old.old_hosts = 4;
    let mut ports = good.clone();
    ports.ports.truncate(1);
    for site in [many, unknown, new, old, ports] {
        assert!(grow(&site, 0, 1, 1_000).is_err(), "{site:?}");
        most_moves(&site);
    }
    let nothing = grow(&Site::default(), 0, 1, 1_000).unwrap();
    assert_eq!((nothing.cables.len(), nothing.apart), (0, 0));
}
