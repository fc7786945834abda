//! The agent, which runs on every host while its firewall is probed.

use crate::{
    numbers::Numbers,
    protocol::{Answer, Arrived, Knock, Order, Rules},
    tap,
};
use socket2::{Domain, Protocol, Socket, Type};
use std::{
    fs,
    io::{self, BufRead, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket},
    path::Path,
    process::Command,
    thread,
    time::Duration,
};
use tasuki_process::Limited;

/// Every datagram is sent so many times, because cables lose some.
const TIMES: usize = 3;
/// Time between two of them.
const PAUSE: Duration = Duration::from_millis(20);
/// How long making a connection may take.
const CONNECT_LIMIT: Duration = Duration::from_millis(700);
/// So many connections are made at once.
const AT_ONCE: usize = 32;
/// How long a command that prints rules may take.
const RULES_LIMIT: Duration = Duration::from_secs(5);
/// How many bytes of rules are read: hosts that close addresses out by lists have some megabytes.
const RULES_BYTES: usize = 16 << 20;

/// A running agent.
struct Agent {
    nics: Vec<String>,
    given: Numbers,
    /// `None`: this user may not listen on NICs.
    heard: Option<Numbers>,
}

/// Does what the lines of `input` order until it ends, and answers each with a line on `output`.
///
/// # Errors
/// If input or output fail.
pub fn run(input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    let mut agent = None;
    for line in input.lines() {
        let answer = match (serde_json::from_str::<Order>(&line?), &agent) {
            (Err(error), _) => {
                Answer::Failed(format!("not an order: {error}; is this tasuki of another version?"))
            }
            (Ok(Order::Listen { nics }), _) => match Agent::listen(nics) {
                Ok((listening, ports)) => {
                    agent = Some(listening);
                    ports
                }
                Err(error) => Answer::Failed(format!("cannot open ports: {error}")),
            },
            (Ok(Order::Knock(knocks)), _) => Answer::Connected(knock(&knocks)),
            (Ok(Order::Report), Some(agent)) => Answer::Arrived(agent.report()),
            (Ok(Order::Report), None) => Answer::Failed("it was not told to listen".into()),
            (Ok(Order::Rules), _) => Answer::Rules(Box::new(rules())),
        };
        serde_json::to_writer(&mut output, &answer)?;
        output.write_all(b"\n")?;
        output.flush()?;
    }
    Ok(())
}

impl Agent {
    /// Opens ports, which are open as long as this process lives.
    fn listen(nics: Vec<String>) -> io::Result<(Self, Answer)> {
        let any = (Ipv4Addr::UNSPECIFIED, 0);
        let (socket, listener) = (UdpSocket::bind(any)?, TcpListener::bind(any)?);
        let (udp, tcp) = (socket.local_addr()?.port(), listener.local_addr()?.port());
        let (given, heard) = (Numbers::default(), Numbers::default());
        let its_given = given.clone();
        thread::spawn(move || {
            let mut buffer = [0; 9];
            loop {
                // An error for one datagram says nothing about the next.
                let Ok(length) = socket.recv(&mut buffer) else { continue };
                let Ok(number) = buffer[..length].try_into().map(u64::from_le_bytes) else { continue };
                its_given.add(number);
            }
        });
        // A connection that was made has shown that it can be; it is of no other use.
        thread::spawn(move || listener.incoming().for_each(drop));
        let hears = nics.iter().all(|nic| tap::listen(nic, udp, &heard).is_ok());
        Ok((Self { nics, given, heard: hears.then_some(heard) }, Answer::Ports { udp, tcp }))
    }

    fn report(&self) -> Arrived {
        let is_dark = |nic: &&String| {
            fs::read_to_string(Path::new("/sys/class/net").join(nic).join("carrier"))
                .is_ok_and(|carrier| carrier.trim() == "0")
        };
        Arrived {
            given: self.given.all(),
            heard: self.heard.as_ref().map(Numbers::all),
            dark: self.nics.iter().filter(is_dark).cloned().collect(),
        }
    }
}

/// Sends to other hosts. Gives the numbers of the connections that were made.
fn knock(knocks: &[Knock]) -> Vec<u64> {
    let datagrams = || knocks.iter().filter(|knock| !knock.tcp);
    let sockets: Vec<_> = datagrams().map(|knock| (knock, open(knock, Type::DGRAM, Protocol::UDP))).collect();
    for time in 0..TIMES {
        for (knock, socket) in &sockets {
            if let Ok(socket) = socket {
                // What is not sent does not arrive, which is what is found out.
                let _ = socket.send_to(&knock.number.to_le_bytes(), &to(knock).into());
            }
        }
        if time + 1 < TIMES {
            thread::sleep(PAUSE);
        }
    }
    let connections: Vec<&Knock> = knocks.iter().filter(|knock| knock.tcp).collect();
    let connects = |knock: &Knock| {
        let connected = open(knock, Type::STREAM, Protocol::TCP)
            .and_then(|socket| socket.connect_timeout(&to(knock).into(), CONNECT_LIMIT));
        connected.is_ok().then_some(knock.number)
    };
    let mut connected = Vec::new();
    for some in connections.chunks(AT_ONCE) {
        thread::scope(|scope| {
            let all: Vec<_> = some.iter().map(|knock| scope.spawn(|| connects(knock))).collect();
            connected.extend(all.into_iter().filter_map(|one| one.join().ok().flatten()));
        });
    }
    connected
}

fn to(knock: &Knock) -> SocketAddr {
    (knock.to, knock.port).into()
}

fn open(knock: &Knock, kind: Type, protocol: Protocol) -> io::Result<Socket> {
    let socket = Socket::new(Domain::IPV4, kind, Some(protocol))?;
    if let Some(nic) = &knock.nic {
        socket.bind_device(Some(nic.as_bytes()))?;
    }
    socket.bind(&SocketAddr::from((knock.from, 0)).into())?;
    Ok(socket)
}

/// The rules of this host's firewall.
fn rules() -> Rules {
    let nft = ask("nft", &["-j", "list", "ruleset"]);
    let text = ask("nft", &["-a", "list", "ruleset"]).unwrap_or_default();
    // `iptables-save` itself often shows what nft shows; without nft it may be all that does.
    let older = ask("iptables-legacy-save", &[]);
    let iptables = match nft {
        Err(Unread::Absent(_)) => joined(older, ask("iptables-save", &[])),
        _ => older,
    };
    let problem = match (&nft, &iptables) {
        (Err(Unread::Absent(_)), Err(Unread::Long(why))) => Some(why.clone()),
        (Err(Unread::Absent(_)), Ok(_)) => None,
        (Err(Unread::Absent(why) | Unread::Failed(why) | Unread::Long(why)), _) => Some(why.clone()),
        (Ok(_), Err(Unread::Long(why))) => Some(why.clone()),
        (Ok(_), _) => None,
    };
    Rules { nft: nft.ok(), text, iptables: iptables.ok(), problem }
}

/// What two commands have printed, as far as they have.
fn joined(a: Result<String, Unread>, b: Result<String, Unread>) -> Result<String, Unread> {
    match (a, b) {
        (Ok(a), Ok(b)) => Ok(a + &b),
        (Ok(text), Err(_)) | (Err(_), Ok(text)) => Ok(text),
        (Err(why), Err(_)) => Err(why),
    }
}

/// Why rules cannot be read.
enum Unread {
    /// There is no such command.
    Absent(String),
    /// It fails.
    Failed(String),
    /// It prints more than is kept.
    Long(String),
}

/// What a command prints that asks the firewall. Ordinary users' PATH often lacks its folder.
fn ask(command: &str, argv: &[&str]) -> Result<String, Unread> {
    let folder =
        ["/usr/sbin", "/sbin", "/usr/bin", "/usr/local/sbin"].map(|folder| Path::new(folder).join(command));
    let Some(program) = folder.iter().find(|program| program.exists()) else {
        return Err(Unread::Absent(format!("there is no {command}")));
    };
    let name = [&[command][..], argv].concat().join(" ");
    match Limited::probe(RULES_LIMIT).keep(RULES_BYTES).run(Command::new(program).args(argv)) {
        Ok(output) if output.is_success() && output.is_cut => {
            Err(Unread::Long(format!("{name} prints more than {} MiB", RULES_BYTES >> 20)))
        }
        Ok(output) if output.is_success() => Ok(output.stdout),
        Ok(output) => Err(Unread::Failed(format!("{name}: {}: {}", output.reason(), output.stderr_tail(1)))),
        Err(error) => Err(Unread::Failed(format!("{command}: {error}"))),
    }
}
