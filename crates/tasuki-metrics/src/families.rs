//! The metrics: names, kinds, meanings, and where their values come from.

use crate::{
    Family,
    Value::{Integer, Real},
    labels::Labels,
};
use prometheus_client::registry::Unit::{Bytes, Celsius, Seconds};
use std::collections::BTreeMap;
use tasuki_load::{HostSample, NicSample, ProcessSample};

/// Of a host.
pub(crate) fn host() -> Vec<Family<HostSample>> {
    vec![
        Family::<HostSample>::gauge("tasuki_host_processors", "Processors that are on line", |host| {
            Some(Integer(host.processors.count.into()))
        }),
        Family::<HostSample>::counter(
            "tasuki_host_busy",
            "Time since boot that all processors together have worked",
            |host| Some(Real(host.processors.busy_ns as f64 / 1e9)),
        )
        .in_unit(Seconds),
        Family::<HostSample>::gauge(
            "tasuki_host_load",
            "Processes that ran or wanted to, averaged over a minute",
            |host| Some(Real(host.processors.load)),
        ),
        Family::<HostSample>::gauge("tasuki_host_memory", "Memory of the host", |host| {
            Some(Integer(host.memory.total))
        })
        .in_unit(Bytes),
        Family::<HostSample>::gauge(
            "tasuki_host_memory_available",
            "Memory that programs could still get",
            |host| Some(Integer(host.memory.available)),
        )
        .in_unit(Bytes),
        Family::<HostSample>::gauge("tasuki_host_temperature", "Temperature of the hottest sensor", |host| {
            host.celsius.map(|celsius| Real(celsius.into()))
        })
        .in_unit(Celsius),
    ]
}

/// Of a NIC.
pub(crate) fn nic() -> Vec<Family<NicSample>> {
    vec![
        Family::<NicSample>::gauge(
            "tasuki_rail_up",
            "Whether the NIC is up and has a signal from the other end",
            |nic| Some(Integer(nic.up.into())),
        ),
        Family::<NicSample>::counter("tasuki_rail_transmit", "Bytes sent", |nic| {
            Some(Integer(nic.sent_bytes))
        })
        .in_unit(Bytes),
        Family::<NicSample>::counter("tasuki_rail_receive", "Bytes received", |nic| {
            Some(Integer(nic.received_bytes))
        })
        .in_unit(Bytes),
        Family::<NicSample>::counter("tasuki_rail_transmit_frames", "Frames sent", |nic| {
            Some(Integer(nic.sent_frames))
        }),
        Family::<NicSample>::counter("tasuki_rail_receive_frames", "Frames received", |nic| {
            Some(Integer(nic.received_frames))
        }),
        Family::<NicSample>::counter("tasuki_rail_errors", "Damaged frames, sent or received", |nic| {
            Some(Integer(nic.errors))
        }),
        Family::<NicSample>::counter("tasuki_rail_dropped", "Frames for which a queue had no room", |nic| {
            Some(Integer(nic.dropped))
        }),
    ]
}

/// Of a rank.
pub(crate) fn rank() -> Vec<Family<ProcessSample>> {
    vec![
        Family::<ProcessSample>::counter("tasuki_rank_cpu", "Processor time used", |rank| {
            rank.cpu_ns.map(|ns| Real(ns as f64 / 1e9))
        })
        .in_unit(Seconds),
        Family::<ProcessSample>::gauge("tasuki_rank_memory", "Memory used", |rank| rank.memory.map(Integer))
            .in_unit(Bytes),
        Family::<ProcessSample>::counter("tasuki_rank_messages_sent", "Messages sent", |rank| {
            Some(Integer(rank.page.endpoint.messages_sent))
        }),
        Family::<ProcessSample>::counter("tasuki_rank_messages_received", "Messages received", |rank| {
            Some(Integer(rank.page.endpoint.messages_received))
        }),
        Family::<ProcessSample>::counter("tasuki_rank_sent", "Bytes of messages sent", |rank| {
            Some(Integer(rank.page.endpoint.bytes_sent))
        })
        .in_unit(Bytes),
        Family::<ProcessSample>::counter("tasuki_rank_received", "Bytes of messages received", |rank| {
            Some(Integer(rank.page.endpoint.bytes_received))
        })
        .in_unit(Bytes),
        Family::<ProcessSample>::gauge(
            "tasuki_rank_receives_posted",
            "Receives that no message has matched yet",
            |rank| Some(Integer(rank.page.endpoint.receives_posted)),
        ),
        Family::<ProcessSample>::gauge(
            "tasuki_rank_messages_unexpected",
            "Messages that came before their receive",
            |rank| Some(Integer(rank.page.endpoint.unexpected)),
        ),
        Family::<ProcessSample>::gauge("tasuki_rank_sends_pending", "Sends that are not complete", |rank| {
            Some(Integer(rank.page.sends_pending()))
        }),
        Family::<ProcessSample>::gauge("tasuki_rank_peers_dead", "Peers that are held to be dead", |rank| {
            Some(Integer(rank.page.dead_peers() as u64))
        }),
    ]
}

/// What a process counts of all of its lanes over one NIC.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RankRail {
    lost_packets: u64,
    resent_bytes: u64,
}

/// Of a NIC that a process uses.
pub(crate) fn rail() -> Vec<Family<RankRail>> {
    vec![
        Family::<RankRail>::counter(
            "tasuki_rank_lost_packets",
            "Packets that the rank holds to be lost",
            |rail| Some(Integer(rail.lost_packets)),
        ),
        Family::<RankRail>::counter(
            "tasuki_rank_resent",
            "Bytes of content that the rank sent again",
            |rail| Some(Integer(rail.resent_bytes)),
        )
        .in_unit(Bytes),
    ]
}

/// The NICs that a process uses.
pub(crate) fn rails(process: &ProcessSample, rank: &Labels) -> Vec<(RankRail, Labels)> {
    let mut rails: BTreeMap<&str, RankRail> = BTreeMap::new();
    for record in process.page.peers.iter().flat_map(|peer| &peer.rails) {
        let rail = rails.entry(&record.nic).or_default();
        rail.lost_packets += record.lost;
        rail.resent_bytes += record.resent;
    }
    rails.into_iter().map(|(nic, rail)| (rail, rank.clone().and("nic", nic))).collect()
}
