//! What an agent has of IF-MIB and EtherLike-MIB.

use crate::{
    Interface, PortSample, SwitchError, SwitchSample,
    agent::{Agent, Item},
    mib, ports,
};
use std::collections::BTreeMap;
use tasuki_cluster::InterfaceNames;

/// Longest name of an interface that is kept, characters (DisplayString, RFC 2579).
const NAME_MAX: usize = 255;

/// What these ports of a switch count.
pub(crate) fn sample(
    agent: &mut Agent,
    wanted: &[u32],
    names: Option<&InterfaceNames>,
) -> Result<SwitchSample, SwitchError> {
    let found = ports::find(wanted, names, &interfaces(agent)?);
    let ports = found.ports.iter().map(|(&port, interface)| port_sample(agent, port, interface));
    Ok(SwitchSample { ports: ports.collect::<Result<_, _>>()?, problems: found.problems })
}

/// The Ethernet interfaces.
fn interfaces(agent: &mut Agent) -> Result<Vec<Interface>, SwitchError> {
    let types = agent.column(&mib::TYPE)?;
    let (names, descriptions) = (agent.column(&mib::NAME)?, agent.column(&mib::DESCRIPTION)?);
    let is_ethernet = |item: &Item| item.number().is_some_and(|number| mib::ETHERNET_TYPES.contains(&number));
    let of = |texts: &BTreeMap<u64, Item>, index: &u64| texts.get(index).map(text).unwrap_or_default();
    let ethernet = types.iter().filter(|(_, item)| is_ethernet(item));
    let interface = |(index, _): (&u64, &Item)| Interface {
        index: *index,
        name: of(&names, index),
        description: of(&descriptions, index),
    };
    Ok(ethernet.map(interface).collect())
}

/// A text of the switch without characters that would act on a terminal.
fn text(item: &Item) -> String {
    let Item::Bytes(bytes) = item else { return String::new() };
    let text = String::from_utf8_lossy(bytes);
    let visible = |c: char| if c.is_control() { ' ' } else { c };
    text.trim_end_matches('\0').chars().take(NAME_MAX).map(visible).collect::<String>().trim().into()
}

fn port_sample(agent: &mut Agent, port: u32, interface: &Interface) -> Result<PortSample, SwitchError> {
    let (uptime, items) = agent.row(interface.index, &mib::OF_A_PORT)?;
    let mut numbers = items.iter().map(Item::number);
    let mut next = || numbers.next().flatten();
    let (status, millions) = (next(), next());
    let (received_bytes, sent_bytes) = (next(), next());
    // A Counter32 whose number is larger is none.
    let mut small = || next().and_then(|number| u32::try_from(number).ok());
    let (receive_errors, send_errors) = (small(), small());
    let (receive_dropped, send_dropped) = (small(), small());
    let crc_errors = small();
    Ok(PortSample {
        port,
        index: interface.index,
        interface: interface.shown(),
        uptime,
        discontinuity: next(),
        up: status.map(|status| status == 1),
        rate: millions.map(|millions| millions.saturating_mul(1_000_000)),
        received_bytes,
        sent_bytes,
        receive_errors,
        send_errors,
        receive_dropped,
        send_dropped,
        crc_errors,
    })
}
