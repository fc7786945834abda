//! The metrics of switches and their ports.

use crate::{
    Family,
    Value::{Integer, Real},
    labels::Labels,
};
use prometheus_client::{
    collector::Collector,
    encoding::DescriptorEncoder,
    registry::Unit::{Bytes, Seconds},
};
use std::fmt;
use tasuki_cluster::Cluster;
use tasuki_switch::{PortSample, SwitchAnswer};

/// Switches, with the labels of each and of its ports.
#[derive(Debug)]
pub(crate) struct Ports(Vec<(SwitchAnswer, Labels, Vec<Labels>)>);

impl Ports {
    pub fn new(answers: Vec<SwitchAnswer>, cluster: Option<&Cluster>) -> Self {
        let with_labels = |answer: SwitchAnswer| {
            let ports = answer.answer.iter().flat_map(|sample| &sample.ports);
            let ports = ports.map(|port| Labels::port(&answer.switch, port, cluster)).collect();
            let labels = Labels::switch(&answer.switch);
            (answer, labels, ports)
        };
        Self(answers.into_iter().map(with_labels).collect())
    }
}

impl Collector for Ports {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        for family in of_switches() {
            family.encode(&mut encoder, self.0.iter().map(|(answer, labels, _)| (answer, labels)))?;
        }
        for family in of_ports() {
            let ports = self.0.iter().flat_map(|(answer, _, labels)| {
                answer.answer.iter().flat_map(|sample| &sample.ports).zip(labels)
            });
            family.encode(&mut encoder, ports)?;
        }
        Ok(())
    }
}

pub(crate) fn of_switches() -> Vec<Family<SwitchAnswer>> {
    vec![
        Family::<SwitchAnswer>::gauge("tasuki_switch_answers", "Whether the switch answers", |switch| {
            Some(Integer(switch.answer.is_ok().into()))
        }),
        Family::<SwitchAnswer>::gauge("tasuki_switch_uptime", "Time since its SNMP agent began", |switch| {
            let sample = switch.answer.as_ref().ok()?;
            Some(Real(f64::from(sample.ports.first()?.uptime) / 100.0))
        })
        .in_unit(Seconds),
    ]
}

pub(crate) fn of_ports() -> Vec<Family<PortSample>> {
    vec![
        Family::<PortSample>::gauge(
            "tasuki_switch_port_up",
            "Whether the port has a signal from the other end",
            |port| Some(Integer(port.up?.into())),
        ),
        Family::<PortSample>::gauge(
            "tasuki_switch_port_speed",
            "What the line carries in a second, one way",
            |port| Some(Integer(port.rate? / 8)),
        )
        .in_unit(Bytes),
        Family::<PortSample>::counter(
            "tasuki_switch_port_receive",
            "Bytes that came from the cable",
            |port| port.received_bytes.map(Integer),
        )
        .in_unit(Bytes),
        Family::<PortSample>::counter("tasuki_switch_port_transmit", "Bytes sent into the cable", |port| {
            port.sent_bytes.map(Integer)
        })
        .in_unit(Bytes),
        Family::<PortSample>::counter(
            "tasuki_switch_port_receive_errors",
            "Frames that came damaged from the cable",
            |port| Some(Integer(port.receive_errors?.into())),
        ),
        Family::<PortSample>::counter(
            "tasuki_switch_port_crc_errors",
            "Frames that came from the cable with a wrong checksum",
            |port| Some(Integer(port.crc_errors?.into())),
        ),
        Family::<PortSample>::counter(
            "tasuki_switch_port_transmit_errors",
            "Frames that could not be sent",
            |port| Some(Integer(port.send_errors?.into())),
        ),
        Family::<PortSample>::counter(
            "tasuki_switch_port_receive_dropped",
            "Frames from the cable for which the switch had no room",
            |port| Some(Integer(port.receive_dropped?.into())),
        ),
        Family::<PortSample>::counter(
            "tasuki_switch_port_transmit_dropped",
            "Frames for the cable for which the switch had no room",
            |port| Some(Integer(port.send_dropped?.into())),
        ),
    ]
}
