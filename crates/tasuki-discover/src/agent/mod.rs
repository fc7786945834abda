//! The agent, which runs on every host during a discovery: it brings NICs up that are down, says hello on all
//! of them, listens, and puts back what it changed.

mod choose;
mod guard;
mod listen;
mod train;

pub use guard::main as guard_main;

use crate::{
    model::{HostSight, Mac, NicSight},
    protocol::{Answer, Order, Sent, Train},
};
use choose::Chosen;
use guard::Guard;
use listen::Listener;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::{
    io::{self, BufRead, Write},
    os::fd::AsFd,
    thread,
    time::{Duration, Instant},
};
use tasuki_fleet::host_name;
use tasuki_sys::netlink::{Link, Netlink};
use tasuki_wire::{CableNic, Discovery};
use train::Sender;

/// Time between two hellos of a NIC.
const HELLO_TIME: Duration = Duration::from_millis(50);
/// Time between two looks whether NICs have a carrier.
const LOOK_TIME: Duration = Duration::from_millis(50);

/// A running agent. Dropping it puts everything back.
struct Agent {
    run: u64,
    host: usize,
    sight: HostSight,
    /// For each NIC of the sight: the listener, unless it could not be opened.
    listeners: Vec<Option<Listener>>,
    sent: u32,
    guard: Option<Guard>,
}

/// Does what the lines of `input` order until it ends, and answers each with a line on `output`.
pub fn run(input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    let mut agent: Option<Agent> = None;
    for line in input.lines() {
        let answer = match (serde_json::from_str::<Order>(&line?), &mut agent) {
            (Err(error), _) => {
                Answer::Failed(format!("not an order: {error}; is this tasuki of another version?"))
            }
            (Ok(Order::Begin { run, host, include, settle_ms }), None) => {
                match Agent::begin(run, host, &include, Duration::from_millis(settle_ms)) {
                    Ok(begun) => Answer::Sight(Box::new(agent.insert(begun).sight.clone())),
                    Err(why) => Answer::Failed(why),
                }
            }
            (Ok(Order::Begin { .. }), Some(_)) => Answer::Failed("it has begun already".into()),
            (Ok(Order::End), _) => match agent.take().map_or(Ok(()), Agent::end) {
                Ok(()) => Answer::Done,
                Err(why) => Answer::Failed(why),
            },
            (Ok(_), None) => Answer::Failed("it was not told to begin".into()),
            (Ok(Order::Greet { ms }), Some(agent)) => {
                agent.greet(Duration::from_millis(ms));
                Answer::Done
            }
            (Ok(Order::Send { nic, train }), Some(agent)) => Answer::Sent(agent.send(nic, &train)),
            (Ok(Order::Report), Some(agent)) => Answer::Sight(Box::new(agent.report())),
        };
        serde_json::to_writer(&mut output, &answer)?;
        output.write_all(b"\n")?;
        output.flush()?;
    }
    Ok(())
}

impl Agent {
    fn begin(run: u64, host: usize, include: &[String], settle: Duration) -> Result<Self, String> {
        let name = host_name();
        let mut netlink = Netlink::open().map_err(|error| format!("cannot ask for interfaces: {error}"))?;
        let links = netlink.links().map_err(|error| error.to_string())?;
        let Chosen { nics, left_alone } = choose::choose(&name, &links, include)?;
        let down: Vec<&Link> = nics.iter().copied().filter(|link| !link.up).collect();
        let guard = Guard::start(&down)?;
        let mut problems = Vec::new();
        for link in &down {
            if let Err(error) = netlink.set_up(link.index, true) {
                problems.push((link.index, format!("it is down: {error} (does discovery run as root?)")));
            }
        }
        let sights = nics.iter().map(|link| NicSight {
            name: link.name.clone(),
            mac: Mac(link.mac.unwrap_or_default()),
            mtu: link.mtu,
            was_down: !link.up,
            problem: problems.iter().find(|(index, _)| *index == link.index).map(|(_, why)| why.clone()),
            ..NicSight::default()
        });
        let (boot, namespace) = tasuki_host::here();
        let sight = HostSight {
            boot_id: format!("{boot} {namespace}"),
            nics: sights.collect(),
            left_alone,
            macs: links.iter().filter_map(|link| link.mac).map(Mac).collect(),
            name,
        };
        let mut agent = Self { run, host, sight, listeners: Vec::new(), sent: 0, guard };
        if !down.is_empty() {
            agent.settle(&mut netlink, settle);
        }
        agent.look();
        agent.listen();
        Ok(agent)
    }

    /// Waits until all NICs that were brought up have a carrier, for no longer than `limit`: Gigabit Ethernet
    /// takes about three seconds to negotiate.
    fn settle(&self, netlink: &mut Netlink, limit: Duration) {
        let end = Instant::now() + limit;
        let is_missing = |netlink: &mut Netlink| {
            let links = netlink.links().unwrap_or_default();
            let brought_up = self.sight.nics.iter().filter(|nic| nic.was_down && nic.problem.is_none());
            let mut found = brought_up.map(|nic| links.iter().find(|link| link.name == nic.name));
            found.any(|link| link.is_some_and(|link| !link.carrier))
        };
        while is_missing(netlink) && Instant::now() < end {
            thread::sleep(LOOK_TIME);
        }
    }

    /// Reads what may change: carriers, rates, MTUs.
    fn look(&mut self) {
        let links = Netlink::open().ok().and_then(|mut netlink| netlink.links().ok()).unwrap_or_default();
        for nic in &mut self.sight.nics {
            if let Some(link) = links.iter().find(|link| link.name == nic.name) {
                (nic.carrier, nic.mtu) = (link.up && link.carrier, link.mtu);
            }
            nic.mbits = choose::mbits(&nic.name);
        }
    }

    fn listen(&mut self) {
        for nic in &mut self.sight.nics {
            let listener = match &nic.problem {
                Some(_) => None,
                None => match Listener::open(&nic.name, self.run) {
                    Ok(listener) => Some(listener),
                    Err(error) => {
                        nic.problem = Some(error.to_string());
                        None
                    }
                },
            };
            self.listeners.push(listener);
        }
    }

    /// Says hello on all NICs, again and again.
    fn greet(&mut self, time: Duration) {
        let end = Instant::now() + time;
        let host = self.host_name();
        let mut buffer = Vec::new();
        loop {
            let numbered = self.sight.nics.iter().zip(&self.listeners).enumerate();
            for (index, (nic, listener)) in numbered {
                let Some(listener) = listener else { continue };
                let sender = self.number(index);
                let (number, run, mac) = (self.sent, self.run, nic.mac.0);
                let hello = Discovery { number, run, sender, host_name: &host, nic_name: &nic.name, mac };
                if hello.emit(&mut buffer).is_some() {
                    listener.send(mac, &buffer);
                }
            }
            self.sent = self.sent.wrapping_add(1);
            if Instant::now() + HELLO_TIME > end || is_input_gone() {
                return;
            }
            thread::sleep(HELLO_TIME);
        }
    }

    /// A NIC, by its place in the host's list, as frames name it.
    fn number(&self, index: usize) -> CableNic {
        CableNic { host: self.host as u16 + 1, nic: index as u16 + 1 }
    }

    /// The name of the host in frames: a host name may have characters that no frame carries.
    fn host_name(&self) -> String {
        let printable = |c: &char| c.is_ascii_graphic();
        let host: String = self.sight.name.chars().filter(printable).take(63).collect();
        if host.is_empty() { "host".into() } else { host }
    }

    /// Sends the frames of a train; none by a NIC that cannot be used.
    fn send(&self, index: usize, train: &Train) -> Sent {
        let (Some(nic), Some(Some(listener))) = (self.sight.nics.get(index), self.listeners.get(index))
        else {
            return Sent::default();
        };
        let host_name = &self.host_name();
        Sender { run: self.run, nic: self.number(index), host_name, nic_name: &nic.name, mac: nic.mac.0 }
            .send(listener, train)
    }

    fn report(&mut self) -> HostSight {
        self.look();
        for (nic, listener) in self.sight.nics.iter_mut().zip(&self.listeners) {
            if let Some(listener) = listener {
                nic.heard = listener.heard();
            }
        }
        self.sight.clone()
    }

    /// Stops listening, sets NICs down again that were down, and waits until that is done.
    fn end(mut self) -> Result<(), String> {
        self.listeners.clear();
        self.guard.take().map_or(Ok(()), Guard::end)
    }
}

/// Whether the program that gives orders is gone: then NICs are put back now, and not after the last hello.
fn is_input_gone() -> bool {
    let input = io::stdin();
    let mut descriptors = [PollFd::new(input.as_fd(), PollFlags::empty())];
    let polled = poll(&mut descriptors, PollTimeout::ZERO);
    polled.is_ok() && descriptors[0].revents().is_some_and(|events| events.contains(PollFlags::POLLHUP))
}
