//! Makes the NICs of the host that we are on as a measurement wants them.

use super::bundle::Bundle;
use crate::BenchError;
use nix::sys::socket::{setsockopt, sockopt::BindToDevice};
use std::{
    ffi::OsString,
    fs, io,
    net::{Ipv4Addr, UdpSocket},
    process::{Command, Stdio},
    thread,
    time::Duration,
};
use tasuki_sys::{
    ethtool::Ethtool,
    netlink::{Netlink, NetlinkError},
};

/// `GSO_MAX_SEGS`: what an interface has that nobody has touched (include/linux/netdevice.h).
const SEGMENTS_UNTOUCHED: u32 = 65_535;
/// Paths of one connection that Multipath TCP allows at most (`MPTCP_PM_ADDR_MAX`).
const MPTCP_PATHS: &str = "8";
/// Port of the discard protocol (RFC 863).
const DISCARD: u16 = 9;
/// Time in which what an earlier measurement has left in queues passes.
const SETTLE: Duration = Duration::from_millis(50);
/// Polls that may find nothing before interrupts are on again. One bounds interrupts per second, as NICs do
/// and as `tasuki tune` sets it: a packet that comes after a pause as long as the delay is taken at once.
const DEFERRED_POLLS: u32 = 1;

/// Makes this host as a JSON text says, which another process of the same measurement has written.
pub fn set_up_bundle(specification: &str) -> Result<(), BenchError> {
    let bundle: Bundle = serde_json::from_str(specification)?;
    let mut netlink = Netlink::open()?;
    tasuki_stripe::remove(&mut netlink)?;
    let segments = bundle.striping.as_ref().map_or(SEGMENTS_UNTOUCHED, |plan| plan.granularity);
    for nic in &bundle.nics {
        let link = netlink.link(&nic.interface)?;
        if link.mac != Some(nic.mac.0) {
            netlink.set_mac(link.index, nic.mac.0)?;
        }
        netlink.set_gso_max_segs(link.index, segments)?;
        receive_on(&nic.interface, bundle.processor)?;
        nic.delay_us.map_or(Ok(()), |delay_us| delay(&nic.interface, delay_us))?;
    }
    // The kernel forgets neighbours where MAC addresses change.
    for (interface, address, mac) in &bundle.neighbours {
        let index = netlink.link(interface)?.index;
        netlink.set_neighbour(index, *address, mac.0)?;
    }
    for _ in 0..2 {
        bundle.nics.iter().try_for_each(|nic| announce_mac(&nic.interface))?;
        // Frames with other addresses that an earlier measurement has left in queues pass between the two
        // rounds.
        thread::sleep(SETTLE);
    }
    announce_addresses(&bundle.announced)?;
    if let Some(plan) = &bundle.striping {
        for nic in &plan.nics {
            let index = netlink.link(&nic.interface)?.index;
            netlink.add_clsact(index).or_else(|error| pass_over(error, NetlinkError::is_exists))?;
        }
        tasuki_stripe::install(&mut netlink, plan, 0)?;
    }
    Ok(())
}

/// No error if it is a harmless one.
fn pass_over(error: NetlinkError, is_harmless: fn(&NetlinkError) -> bool) -> Result<(), NetlinkError> {
    if is_harmless(&error) { Ok(()) } else { Err(error) }
}

/// Has a processor receive what comes in by an interface (Documentation/networking/scaling.rst): otherwise,
/// in a lab, the one that sent a frame would receive it as well.
fn receive_on(interface: &str, processor: Option<usize>) -> Result<(), BenchError> {
    // The kernel reads groups of 32 processors, the highest first.
    let group = |number: usize| match processor {
        Some(processor) if processor / 32 == number => format!("{:x}", 1u32 << (processor % 32)),
        _ => "0".into(),
    };
    let groups: Vec<String> = (0..=processor.unwrap_or(0) / 32).rev().map(group).collect();
    write(&format!("/sys/class/net/{interface}/queues/rx-0/rps_cpus"), &groups.join(","))
}

/// Sends a frame to everybody on a NIC's network (an empty datagram to the discard port), so that switches
/// learn where its MAC address is: another NIC may have had it a moment ago, and what is sent to it would go
/// there.
fn announce_mac(interface: &str) -> Result<(), BenchError> {
    let spoken = || {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
        setsockopt(&socket, BindToDevice, &OsString::from(interface))?;
        socket.set_broadcast(true)?;
        socket.send_to(&[], (Ipv4Addr::BROADCAST, DISCARD))
    };
    spoken()
        .map(drop)
        .map_err(|error: io::Error| BenchError::refused(format!("cannot send by {interface}: {error}")))
}

/// Delays receive interrupts as a NIC does. Virtual interfaces have no such setting, but the kernel can hold
/// back the poll for what has come in (Documentation/networking/napi.rst) on an interface that merges packets
/// (`rx-gro`).
fn delay(interface: &str, delay_us: u32) -> Result<(), BenchError> {
    Ethtool::open(interface)?.set_features(|name| name == "rx-gro", true)?;
    let set =
        |name: &str, value: u32| write(&format!("/sys/class/net/{interface}/{name}"), &value.to_string());
    set("napi_defer_hard_irqs", if delay_us > 0 { DEFERRED_POLLS } else { 0 })?;
    set("gro_flush_timeout", delay_us * 1000)
}

fn write(path: &str, text: &str) -> Result<(), BenchError> {
    fs::write(path, text).map_err(|error| BenchError::refused(format!("cannot write {path}: {error}")))
}

/// Sets the addresses, with their NICs, that Multipath TCP tells the other side of a connection; none: it
/// tells nothing.
fn announce_addresses(addresses: &[(String, Ipv4Addr)]) -> Result<(), BenchError> {
    if !fs::exists("/proc/sys/net/mptcp/enabled")? {
        return match addresses {
            [] => Ok(()),
            _ => Err(BenchError::refused(
                "this kernel has no Multipath TCP (net.mptcp.enabled): leave `mptcp` away",
            )),
        };
    }
    if addresses.is_empty() {
        return ip(&["mptcp", "endpoint", "flush"]);
    }
    ip(&["mptcp", "endpoint", "flush"])?;
    ip(&["mptcp", "limits", "set", "subflow", MPTCP_PATHS, "add_addr_accepted", MPTCP_PATHS])?;
    for (interface, address) in addresses {
        ip(&["mptcp", "endpoint", "add", &address.to_string(), "dev", interface, "signal"])?;
    }
    Ok(())
}

fn ip(words: &[&str]) -> Result<(), BenchError> {
    let output = Command::new("ip").args(words).stdin(Stdio::null()).output();
    let output =
        output.map_err(|error| BenchError::refused(format!("cannot run ip (package iproute2): {error}")))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(BenchError::refused(format!("ip {}: {}", words.join(" "), said.trim())))
}
