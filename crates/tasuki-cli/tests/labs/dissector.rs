//! The Wireshark dissector (`packaging/wireshark/tasuki.lua`) on captures of real runs: whatever mode the
//! transport is in, tshark recognises every packet, calls none malformed, and shows what follows from the
//! wire format.

use crate::support::{
    Background, TestLab, eventually,
    mpi::{Programs, families},
    run::MpiRun,
    skip_without_root,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// Rail, lane and sender of a packet, each combination of which numbers its own packets.
type Numbered = (String, String, String);

/// Bytes of a datagram that asks whether a peer's socket is there (docs/internals/transport.md, liveness). It
/// is sent to a peer of whom nothing was heard for most of a second, as on a busy machine.
const KNOCK: u64 = 16;

/// What tshark shows of one packet.
struct Shown {
    from: String,
    number: Option<(Numbered, u64)>,
    frames: Vec<u8>,
    /// Path and number of the packet that is acknowledged, if there is one acknowledgement.
    acked: Vec<(String, String, u64)>,
    /// Bytes of a datagram that is neither one of Tasuki's packets nor a knock.
    foreign: Option<u64>,
    /// Priority and VLAN of its tag.
    tag: Option<(u64, u64)>,
}

const FIELDS: [&str; 12] = [
    "eth.src",
    "tasuki.rail",
    "tasuki.lane",
    "tasuki.number",
    "tasuki.frame",
    "tasuki.ack.rail",
    "tasuki.ack.lane",
    "tasuki.ack.last",
    "udp.length",
    "tasuki.checksum.good",
    "vlan.priority",
    "vlan.id",
];

/// Runs tshark with the dissector. `None`, after a note, if there is no tshark.
fn tshark(capture: &Path, arguments: &[&str]) -> Option<String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/wireshark/tasuki.lua");
    let mut command = Command::new("tshark");
    command.arg("-X").arg(format!("lua_script:{}", script.display())).arg("-r").arg(capture);
    // Tasuki's ports are arbitrary, so some of them are ones that Wireshark assigns to another protocol
    // (44818: EtherNet/IP) before it tries heuristics.
    command.args(["--enable-heuristic", "tasuki_udp", "-o", "udp.try_heuristic_first:TRUE"]);
    match command.args(arguments).output() {
        Ok(output) => {
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success() && !errors.contains("Lua"), "tshark: {errors}");
            Some(String::from_utf8(output.stdout).expect("UTF-8"))
        }
        Err(error) => {
            assert!(std::env::var_os("TASUKI_NO_SKIP").is_none(), "tshark: {error}; run scripts/setup");
            eprintln!("skipped: tshark: {error}");
            None
        }
    }
}

fn shown(line: &str) -> Shown {
    let cells: Vec<&str> = line.split('\t').collect();
    assert_eq!(cells.len(), FIELDS.len(), "{line}");
    let list = |at: usize| cells[at].split(',').filter(|word| !word.is_empty()).collect::<Vec<_>>();
    let count = |word: &str| word.parse::<u64>().unwrap_or_else(|error| panic!("{word}: {error}"));
    let (rails, lanes, lasts) = (list(5), list(6), list(7));
    let acked = match rails[..] {
        [rail] => lasts.iter().map(|last| (rail.to_owned(), lanes[0].to_owned(), count(last))).collect(),
        _ => Vec::new(),
    };
    let path = (cells[0].to_owned(), cells[1].to_owned(), cells[2].to_owned());
    let number = (!cells[3].is_empty()).then(|| (path, count(cells[3])));
    assert!(number.is_none() || cells[9] == "1" || cells[9] == "True", "checksum: {line}");
    let foreign = (number.is_none() && !cells[8].is_empty()).then(|| count(cells[8]) - 8);
    let foreign = foreign.filter(|length| *length != KNOCK);
    let tag = (!cells[10].is_empty()).then(|| (count(cells[10]), count(cells[11])));
    let kind = |word: &&str| u8::from_str_radix(word.trim_start_matches("0x"), 16).expect("a kind");
    let frames = list(4).iter().map(kind).collect();
    Shown { from: cells[0].to_owned(), number, frames, acked, foreign, tag }
}

/// The content of a datagram to the discard port.
const MARK: &str = "the last packet of this capture";

/// A dumpcap on eth1 of a host.
struct Capture<'a> {
    lab: &'a TestLab,
    host: &'static str,
    file: PathBuf,
    pid: PathBuf,
    _dumpcap: Background,
}

impl<'a> Capture<'a> {
    fn start(lab: &'a TestLab, host: &'static str, folder: &Path) -> Self {
        let (file, pid) = (folder.join(format!("{host}.pcapng")), folder.join(format!("{host}.pid")));
        let create = |path: &Path| File::create(path).expect("a file");
        let mut command = lab.exec(host, &["sh", "-c", "echo $$ >&2; exec dumpcap -q -B 32 -i eth1 -w -"]);
        command.stdin(Stdio::null()).stdout(create(&file)).stderr(create(&pid));
        let dumpcap = Background(command.spawn().expect("dumpcap starts"));
        let capture = Self { lab, host, file, pid, _dumpcap: dumpcap };
        eventually("dumpcap captures", || capture.said().contains("File: "));
        capture
    }

    fn said(&self) -> String {
        std::fs::read_to_string(&self.pid).unwrap_or_default()
    }

    /// Ends the capture. Returns the packets from the other host: a host does not see its own raw frames
    /// leave, because they bypass the queues where captures look.
    fn stop(self, test: &str) -> Option<Vec<Shown>> {
        // When dumpcap is told to end it drops what it has not looked at yet, so the test waits for a last
        // packet that it knows.
        let (other, address) = if self.host == "n1" { ("n2", "10.78.1.1") } else { ("n1", "10.78.2.1") };
        let mark = format!("printf '{MARK}' > /dev/udp/{address}/9");
        self.lab.run(other, &["bash", "-c", &mark]);
        eventually("all is captured", || {
            let captured = std::fs::read(&self.file).unwrap_or_default();
            captured.windows(MARK.len()).any(|bytes| bytes == MARK.as_bytes())
        });
        let pid = self.said().lines().next().unwrap_or_default().to_owned();
        self.lab.sh(self.host, &format!("kill -INT {pid}"));
        eventually("dumpcap ends", || self.said().contains("received/dropped"));
        let said = self.said();
        let lost =
            said.rsplit("': ").next().and_then(|rest| rest.split(['/', ' ']).nth(1)).map(str::to_owned);
        assert_eq!(lost.as_deref(), Some("0"), "{test}: the capture is incomplete: {said}");
        let bad = "tasuki.malformed or tasuki.bad_checksum or (_ws.malformed and tasuki)";
        let malformed = tshark(&self.file, &["-Y", bad])?;
        assert!(malformed.is_empty(), "{test}, {}: {malformed}", self.host);
        let own = self.lab.sh(self.host, "cat /sys/class/net/eth1/address").trim().to_owned();
        // A host whose program has ended answers what comes late with an ICMP message that quotes the
        // beginning of the datagram. The quotation went the other way before and is no packet of this one.
        let mut arguments = vec!["-Y", "!(udp.port == 9) && !icmp", "-T", "fields"];
        arguments.extend(FIELDS.iter().flat_map(|field| ["-e", *field]));
        let text = tshark(&self.file, &arguments)?;
        Some(text.lines().map(shown).filter(|shown| shown.from != own).collect())
    }
}

/// The numbers of each path grow, and a packet that is acknowledged was captured before.
fn check_numbers(test: &str, ways: [&[Shown]; 2]) {
    let mut seen: BTreeMap<&Numbered, BTreeSet<u64>> = BTreeMap::new();
    for (path, number) in ways.into_iter().flatten().filter_map(|shown| shown.number.as_ref()) {
        let numbers = seen.entry(path).or_default();
        assert!(numbers.last().is_none_or(|last| last < number), "{test}: {path:?} {number} is out of order");
        numbers.insert(*number);
    }
    let mut checked = 0;
    for (way, other) in [(ways[0], ways[1]), (ways[1], ways[0])] {
        let Some(sender) = other.first().map(|shown| shown.from.clone()) else { continue };
        for (rail, lane, number) in way.iter().flat_map(|shown| &shown.acked) {
            let path = (sender.clone(), rail.clone(), lane.clone());
            let numbers = seen.get(&path);
            let foreign = other.iter().filter(|shown| shown.foreign.is_some()).count();
            assert!(
                numbers.is_some_and(|numbers| numbers.contains(number)),
                "{test}: {path:?} {number} is acknowledged and was never on the cable: numbers {numbers:?}, \
                 {foreign} unknown datagrams"
            );
            checked += 1;
        }
    }
    assert!(checked > 20, "{test}: {checked} acknowledgements");
}

/// Headerless datagrams: without loss each is a byte shorter than the one before, except for the first and
/// the last of a round.
fn check_lengths(test: &str, way: &[Shown], bytes: u64) {
    let lengths: Vec<u64> = way.iter().filter_map(|shown| shown.foreign).collect();
    assert!(lengths.iter().sum::<u64>() >= bytes, "{test}: {} datagrams", lengths.len());
    let first = lengths.iter().max().copied().unwrap_or(0);
    for pair in lengths.windows(2) {
        assert!(pair[1] == first || pair[1] < pair[0], "{test}: {} after {}", pair[1], pair[0]);
    }
    let steps = lengths.windows(2).filter(|pair| pair[1] + 1 == pair[0]).count();
    assert!(steps * 10 > lengths.len() * 9, "{test}: {steps} steps of a byte in {} datagrams", lengths.len());
}

/// All frames of the raw lane have this tag, and no other packet has one.
fn check_tags(test: &str, way: &[Shown], tag: Option<(u64, u64)>) {
    let (mut raw, mut long) = (0u32, 0u32);
    for shown in way {
        let Some(((_, _, lane), _)) = &shown.number else { continue };
        let is_raw = lane == "0";
        assert_eq!(shown.tag, tag.filter(|_| is_raw), "{test}: lane {lane}");
        raw += u32::from(is_raw);
        long += u32::from(!is_raw);
    }
    assert!(raw > 0 && (long > 0 || tag.is_none()), "{test}: {raw} raw frames, {long} datagrams");
}

/// Bytes of the messages of reverse.c, in its two passes, that are longer than 64 KiB.
const LONG: u64 = 2 * 2 * 100_000;

/// Kinds of frames (docs/reference/wire.md) that this program causes in any mode. Ping is for time-outs,
/// recall and return are for many peers, quiesce and its relatives for checkpoints.
const ALWAYS: [u8; 11] = [0x02, 0x03, 0x04, 0x07, 0x08, 0x10, 0x11, 0x12, 0x14, 0x15, 0x1b];

#[test]
fn captures_of_real_runs_are_understood() {
    let test = "captures_of_real_runs_are_understood";
    if skip_without_root(test) {
        return;
    }
    let lab = TestLab::up("dissector", &["--shape", "pair:1"]);
    let programs = Programs::new();
    let Some(mpi) = families(test).into_iter().next() else { return };
    let built = programs.build("reverse", &mpi);
    let modes = [
        ("TASUKI_RATE", "window"),
        ("TASUKI_RATE", "adaptive"),
        ("TASUKI_RATE", "static:90M/64K"),
        ("TASUKI_BULK", "length"),
        ("TASUKI_PRIORITY", "5"),
    ];
    for (name, value) in modes {
        let what = format!("{test}, {}, {name}={value}", mpi.name);
        let folder = tempfile::tempdir().expect("a folder");
        let captures = ["n1", "n2"].map(|host| Capture::start(&lab, host, folder.path()));
        let printed = MpiRun::new(&lab, &mpi, "tasuki", 2, &built).args(["2000"]).env(name, value).ok();
        assert!(printed.contains("reverse ok"), "{printed}");
        let [Some(to_first), Some(to_second)] = captures.map(|capture| capture.stop(&what)) else { return };
        check_numbers(&what, [&to_first, &to_second]);
        let tag = (name == "TASUKI_PRIORITY").then_some((5, 0));
        for way in [&to_first, &to_second] {
            check_tags(&what, way, tag);
        }
        let all = || to_first.iter().chain(&to_second);
        let kinds: BTreeSet<u8> = all().flat_map(|shown| shown.frames.iter().copied()).collect();
        let length_coded = name == "TASUKI_BULK";
        let missing: Vec<u8> = ALWAYS.into_iter().filter(|kind| !kinds.contains(kind)).collect();
        assert!(missing.is_empty(), "{what}: no frame of kinds {missing:x?}");
        let foreign = all().filter(|shown| shown.foreign.is_some()).count();
        if length_coded {
            check_lengths(&what, &to_second, LONG);
        } else {
            assert!(kinds.contains(&0x13), "{what}: no grant");
            let lengths: Vec<u64> = all().filter_map(|shown| shown.foreign).collect();
            assert_eq!(foreign, 0, "{what}: datagrams that are no packets, of these bytes: {lengths:?}");
        }
        eprintln!("{what}: {} packets, kinds {kinds:x?}, {foreign} without headers", all().count());
    }
}
