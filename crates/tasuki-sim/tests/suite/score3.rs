//! Endpoints with the real message and packet layers on the networks of SCore III.

use tasuki_sim::transport::{Carried, Exchange, PAYLOAD_SHARE, Score3};
use tasuki_topo::measure::{Count, bisection};

fn run(exchange: Exchange) -> Carried {
    let carried = exchange.run().unwrap_or_else(|failure| panic!("{exchange:?}: {}", failure.complaint));
    println!("{exchange:?}: {carried:?}");
    carried
}

/// The networks have the paper's own figures: 1 Tbit/s for Myrinet and 16 Gbit/s per plane of Ethernet, both
/// directions; 512 hosts.
#[test]
fn the_networks_are_the_papers() -> Result<(), tasuki_topo::NetworkError> {
    for (network, tbps) in [(Score3::Myrinet, 1.024), (Score3::Ethernet { planes: 1 }, 0.016)] {
        let net = network.network()?;
        assert_eq!(net.hosts().len(), 512);
        assert_eq!(network.bisection_bps(), tbps * 1e12);
        // The bandwidth of one direction, by search over halves of the hosts.
        let found = bisection(&net, Count::BitsPerSecond, 1000);
        let one_way = (network.bisection_bps() / 2.0) as u64;
        assert!((found.lower..=found.upper).contains(&one_way), "{} to {}", found.lower, found.upper);
    }
    Ok(())
}

/// Of the 4134 bytes that a message takes on the cable 4096 are the packet, and of these the headers of UDP,
/// the packet layer and its frames are a few per cent. A permutation over balanced paths through a network of
/// full bisection loses nothing else.
#[test]
fn endpoints_fill_myrinet() {
    for (endpoints, messages) in [(64, 8), (512, 2)] {
        let network = Score3::Myrinet;
        let carried = run(Exchange { network, endpoints, len: 64 << 10, messages, seed: 1 });
        let partners = endpoints.trailing_zeros() as usize;
        assert_eq!(
            carried.connections,
            endpoints * partners - endpoints / 2,
            "those at half the machine are mutual"
        );
        assert_eq!((carried.dropped, carried.resent_bytes), (0, 0));
        assert!((0.9..1.0).contains(&carried.share), "{}", carried.share);
    }
}

/// With few hosts per switch their own cables are the limit. With all hosts one cable of 1 Gbit/s serves 32
/// of 100 Mbit/s, so switches drop packets, which are resent; nevertheless every message arrives whole.
#[test]
fn endpoints_share_ethernet() {
    let network = Score3::Ethernet { planes: 1 };
    let few = run(Exchange { network, endpoints: 64, len: 64 << 10, messages: 8, seed: 1 });
    assert_eq!(few.dropped, 0);
    assert!((0.85..PAYLOAD_SHARE).contains(&few.share), "{}", few.share);
    let network = Score3::Ethernet { planes: 2 };
    let all = run(Exchange { network, endpoints: 512, len: 64 << 10, messages: 1, seed: 1 });
    assert!(all.dropped > 0 && all.resent_bytes > 0);
    assert!((0.3..PAYLOAD_SHARE).contains(&all.share), "{}", all.share);
}

/// A run that is impossible is refused with an error.
#[test]
fn a_number_that_is_no_power_of_two_is_refused() {
    let exchange = Exchange { network: Score3::Myrinet, endpoints: 100, len: 8, messages: 1, seed: 1 };
    assert!(exchange.run().is_err_and(|failure| failure.complaint.contains("power of two")));
}
