//! The program in the kernel: it loads, it reads its tables as they were written, and removing it leaves
//! nothing.

use nix::sched::{CloneFlags, unshare};
use std::{
    fs,
    net::{IpAddr, Ipv4Addr, UdpSocket},
    process::Command,
    thread::sleep,
    time::{Duration, Instant},
};
use tasuki_cluster::{MacAddr, Rate, StripeNic, StripePeer, StripePlan, StripePolicy, StripeSlot};
use tasuki_stripe::{StripeCounts, Verdicts, find, install, remove};
use tasuki_sys::netlink::{Gateway, Netlink, Route, VethEnd};

const SELF: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
const PEER: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
/// The program asks the kernel every 20 ms.
const ASKED: Duration = Duration::from_millis(50);

/// A network namespace of its own with two NICs, whose cables end nowhere.
fn host() -> Netlink {
    unshare(CloneFlags::CLONE_NEWNET).expect("a network namespace");
    let mut netlink = Netlink::open().expect("rtnetlink");
    netlink.add_bridge("tasuki0").expect("the identity interface");
    for name in ["eth1", "eth2"] {
        let end = VethEnd { name, mac: None, mtu: 1500, namespace: None };
        let far = format!("{name}far");
        let far = VethEnd { name: &far, mac: None, mtu: 1500, namespace: None };
        netlink.add_veth(&end, &far).expect("a cable");
    }
    let links = netlink.links().expect("interfaces");
    for link in links {
        netlink.set_up(link.index, true).expect("up");
    }
    let index = |netlink: &mut Netlink, name| netlink.link(name).expect("there").index;
    let (identity, first, second) =
        (index(&mut netlink, "tasuki0"), index(&mut netlink, "eth1"), index(&mut netlink, "eth2"));
    netlink.add_address(identity, SELF, 32).expect("an address");
    for (number, nic) in [(1, first), (2, second)] {
        let (own, remote) = (Ipv4Addr::new(10, 78, 1, number), Ipv4Addr::new(10, 78, 2, number));
        netlink.add_address(nic, own, 32).expect("an address");
        let straight = Gateway { index: nic, via: None, weight: 1 };
        let route = Route { destination: remote, source: own, gateways: vec![straight] };
        netlink.set_route(&route).expect("a route");
        netlink.set_neighbour(nic, remote, [2, 0, 0, 0, 0, number]).expect("a neighbour");
        netlink.add_clsact(nic).expect("a place");
    }
    let via = Gateway { index: first, via: Some(Ipv4Addr::new(10, 78, 2, 1)), weight: 1 };
    let route = Route { destination: PEER, source: SELF, gateways: vec![via] };
    netlink.set_route(&route).expect("a route");
    fs::write("/proc/sys/net/ipv4/conf/tasuki0/forwarding", "1").expect("a setting");
    netlink
}

fn plan(policy: StripePolicy, is_known: bool) -> StripePlan {
    let rate = Rate::from_bits_per_second(1_000_000_000);
    let slot = |nic: usize| {
        let number = nic as u8 + 1;
        let mac = is_known.then_some(MacAddr([2, 0, 0, 0, 0, number]));
        StripeSlot { nic, remote: Ipv4Addr::new(10, 78, 2, number), mac, rate }
    };
    StripePlan {
        policy,
        granularity: 1,
        identity: SELF,
        nics: ["eth1", "eth2"].map(|name| StripeNic { interface: name.into(), rate }).into(),
        peers: vec![StripePeer { identity: PEER, slots: vec![slot(0), slot(1)] }],
    }
}

/// Sends ten datagrams; returns how many packets each NIC has sent of them that were striped.
fn send_ten(netlink: &mut Netlink) -> [u64; 2] {
    send_ten_from(netlink, SELF.into(), PEER.into())
}

fn send_ten_from(netlink: &mut Netlink, own: IpAddr, to: IpAddr) -> [u64; 2] {
    let counts = |netlink: &mut Netlink| StripeCounts::read(netlink).expect("counters").expect("striping");
    let before = counts(netlink);
    let socket = UdpSocket::bind((own, 0)).expect("a socket");
    for _ in 0..10 {
        socket.send_to(b"datagram", (to, 9)).expect("sends");
    }
    let after = counts(netlink);
    assert_eq!(after.nics.iter().map(|nic| nic.interface.as_str()).collect::<Vec<_>>(), ["eth1", "eth2"]);
    [0, 1].map(|nic| after.nics[nic].packets - before.nics[nic].packets)
}

fn skip_without_root() -> bool {
    let is_root = nix::unistd::Uid::effective().is_root();
    if !is_root {
        assert!(std::env::var_os("TASUKI_NO_SKIP").is_none(), "it needs root");
        eprintln!("SKIPPED: it needs root");
    }
    !is_root
}

#[test]
fn the_program_stripes_as_it_is_told_and_goes_away_whole() {
    if skip_without_root() {
        return;
    }
    let mut netlink = host();
    assert_eq!(find(&mut netlink).expect("looks"), None);
    for is_known in [true, false] {
        install(&mut netlink, &plan(StripePolicy::RoundRobin, is_known), 7).expect("it loads");
        assert_eq!(find(&mut netlink).expect("looks").and_then(|found| found.sum), Some(7));
        assert_eq!(send_ten(&mut netlink), [5, 5], "addresses known: {is_known}");
    }
    // A rail that the watch says is dead gets nothing. If both are dead, packets go as the kernel's route
    // says, unstriped.
    let found = find(&mut netlink).expect("looks").expect("striping");
    let mut verdicts = Verdicts::open(&found).expect("tables");
    for (dead, expected) in [(0b10, [10, 0]), (0b01, [0, 10]), (0b11, [0, 0]), (0, [5, 5])] {
        // What the watch says counts for a second.
        let sent = loop {
            let said = Instant::now();
            verdicts.say(&[dead]).expect("says");
            let sent = send_ten(&mut netlink);
            if said.elapsed() < Duration::from_millis(900) {
                break sent;
            }
        };
        assert_eq!(sent, expected, "dead: {dead:b}");
    }
    // Without the watch the program believes the kernel: eth2 goes down, and comes back with its route.
    verdicts.leave().expect("leaves");
    let second = netlink.link("eth2").expect("there").index;
    netlink.set_up(second, false).expect("down");
    sleep(ASKED);
    assert_eq!(send_ten(&mut netlink), [10, 0]);
    // The program of another plan replaces it in one step.
    install(&mut netlink, &plan(StripePolicy::FlowHash, true), 8).expect("it loads");
    assert_eq!(find(&mut netlink).expect("looks").and_then(|found| found.sum), Some(8));
    // A NIC that has lost its filter is noticed.
    netlink.delete_clsact(second).expect("goes");
    assert_eq!(find(&mut netlink).expect("looks").expect("striping").sum, None);
    remove(&mut netlink).expect("goes");
    assert_eq!(find(&mut netlink).expect("looks"), None);
}

/// Packets of IPv6 are striped if they go to a NIC of a host of the cluster. NICs are exchanged more often
/// than there is room for addresses in the program's table.
#[test]
fn a_nic_that_was_exchanged_is_known_by_its_new_address_alone() {
    if skip_without_root() {
        return;
    }
    let mut netlink = host();
    let first = netlink.link("eth1").expect("there").index;
    let ip = |words: String| {
        let status = Command::new("ip").args(words.split(' ')).status().expect("ip runs");
        assert!(status.success(), "ip {words}");
    };
    ip("-6 address add fd00::1/64 dev eth1 nodad".into());
    install(&mut netlink, &plan(StripePolicy::RoundRobin, false), 9).expect("it loads");
    send_ten(&mut netlink);
    let exchanged: Vec<u8> = (0x10..0x30).collect();
    for &last in &exchanged {
        let remote = Ipv4Addr::new(10, 78, 2, 1);
        netlink.set_neighbour(first, remote, [2, 0, 0, 0, 0, last]).expect("a neighbour");
        sleep(ASKED);
        assert_eq!(send_ten(&mut netlink), [5, 5]);
    }
    let mut send_to = |last: u8| {
        ip(format!("-6 neighbour replace fd00::2 lladdr 02:00:00:00:00:{last:02x} dev eth1"));
        let [own, to] = ["fd00::1", "fd00::2"].map(|text| text.parse().expect("an address"));
        send_ten_from(&mut netlink, own, to)
    };
    let (last, earlier) = exchanged.split_last().expect("some");
    assert_eq!((send_to(*last), send_to(2)), ([5, 5], [5, 5]), "the NICs that are there");
    for &gone in [1].iter().chain(earlier) {
        assert_eq!(send_to(gone), [0, 0], "a NIC that is gone: {gone:x}");
    }
}
