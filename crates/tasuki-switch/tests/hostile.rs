//! Agents that are silent, lie, or answer without end: asking them ends, says why, and harms nobody else.

use std::{
    net::UdpSocket,
    panic,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};
use tasuki_cluster::Cluster;
use tasuki_random::Random;
use tasuki_switch::{SwitchError, SwitchSample, Switches};

/// Bytes of a value in BER (X.690): its tag, its length in the long form of two bytes, its content.
fn ber(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = u16::try_from(content.len()).expect("a short content").to_be_bytes();
    [&[tag, 0x82, length[0], length[1]], content].concat()
}

fn oid(arcs: &[u64]) -> Vec<u8> {
    let mut bytes = vec![(arcs[0] * 40 + arcs[1]) as u8];
    for arc in &arcs[2..] {
        let groups = (0..10).rev().map(|group| (arc >> (7 * group)) as u8 & 0x7f);
        let mut groups: Vec<u8> = groups.skip_while(|bits| *bits == 0).collect();
        groups.is_empty().then(|| groups.push(0));
        let last = groups.len() - 1;
        groups[..last].iter_mut().for_each(|bits| *bits |= 0x80);
        bytes.extend(groups);
    }
    ber(6, &bytes)
}

const INTEGER: u8 = 2;
const TEXT: u8 = 4;
const COUNTER: u8 = 0x41;
const TICKS: u8 = 0x43;

type Values = Vec<(Vec<u64>, u8, Vec<u8>)>;

/// What a request asks for: its number, and its objects.
fn understand(request: &[u8]) -> (i32, Vec<Vec<u64>>) {
    let request = snmp2::Pdu::from_bytes(request).expect("a request of SNMP");
    let arcs = |(oid, _): (snmp2::Oid<'_>, _)| oid.iter().expect("numbers").collect();
    (request.req_id, request.varbinds.clone().map(arcs).collect())
}

/// An answer to the request of this number.
fn answer(number: i32, status: u8, values: &Values) -> Vec<u8> {
    let one =
        |(name, tag, content): &(Vec<u64>, u8, Vec<u8>)| ber(0x30, &[oid(name), ber(*tag, content)].concat());
    let values: Vec<u8> = values.iter().flat_map(one).collect();
    let pdu = [
        ber(INTEGER, &number.to_be_bytes()),
        ber(INTEGER, &[status]),
        ber(INTEGER, &[0]),
        ber(0x30, &values),
    ];
    ber(0x30, &[ber(INTEGER, &[1]), ber(TEXT, b"public"), ber(0xa2, &pdu.concat())].concat())
}

/// What a switch with one port, called `p1`, says.
fn honest(request: &[u8]) -> Vec<u8> {
    let (number, names) = understand(request);
    let value = |mut name: Vec<u64>| match name.as_slice() {
        // A column, of which the only row is asked for.
        [1, 3, 6, 1, 2, 1, 2, 2, 1, 3] => {
            name.push(7);
            (name, INTEGER, vec![6])
        }
        [.., 31, 1, 1, 1, 1] | [1, 3, 6, 1, 2, 1, 2, 2, 1, 2] => {
            name.push(7);
            (name, TEXT, b"p1".to_vec())
        }
        // The row behind the last is of another table.
        [1, 3, 6, 1, 2, 1, 2, 2, 1, 2 | 3, 7] | [.., 31, 1, 1, 1, 1, 7] => {
            (vec![1, 3, 6, 1, 3, 1], INTEGER, vec![0])
        }
        [1, 3, 6, 1, 2, 1, 1, 3, 0] => (name, TICKS, vec![1, 0]),
        [.., 2, 2, 1, 8, 7] => (name, INTEGER, vec![1]),
        [.., 2, 2, 1, 14, 7] => (name, COUNTER, vec![0, 0xff, 0xff, 0xff, 0xfe]),
        _ => (name, 0x81, vec![]),
    };
    answer(number, 0, &names.into_iter().map(value).collect())
}

/// What a switch answers whose agent makes its answers so; `None`: none.
fn asked(reply: impl FnMut(&[u8]) -> Option<Vec<u8>> + Send + 'static) -> Result<SwitchSample, SwitchError> {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let mut reply = reply;
    let address = socket.local_addr().expect("an address");
    let quit = socket.try_clone().expect("a copy");
    let agent = thread::spawn(move || {
        let mut buffer = [0; 65_536];
        while let Ok((length, from)) = socket.recv_from(&mut buffer) {
            if length == 0 {
                return;
            }
            if let Some(answer) = reply(&buffer[..length]) {
                // The other end may have given up.
                let _ = socket.send_to(&answer, from);
            }
        }
    });
    let text = format!(
        "[[host]]\nname = \"n1\"\nnic = [{{ name = \"eth1\" }}]\n[[switch]]\nname = \"sw1\"\nports = 4\n\
         management = \"{address}\"\n[[cable]]\nends = [\"n1:eth1\", \"sw1:1\"]\n"
    );
    let answers = Switches::of(&Cluster::parse(&text, None).expect("a cluster")).ask();
    quit.send_to(&[], address).expect("it is told to end");
    agent.join().expect("it ends");
    let [answer] = answers.try_into().expect("one answer");
    assert_eq!(answer.switch, "sw1");
    answer.answer
}

#[test]
fn an_honest_agent_is_understood() {
    let sample = asked(|request| Some(honest(request))).expect("a sample");
    let [port] = sample.ports.as_slice() else { panic!("{sample:?}") };
    assert_eq!((port.port, port.index, port.interface.as_str(), port.uptime), (1, 7, "p1", 256));
    assert_eq!((port.up, port.receive_errors, port.crc_errors), (Some(true), Some(u32::MAX - 1), None));
    assert_eq!((port.received_bytes, port.discontinuity), (None, None));
}

#[test]
fn silence_is_said_to_be_silence() {
    let error = asked(|_| None).expect_err("silence");
    assert!(matches!(error, SwitchError::Silent { .. }), "{error:?}");
}

#[test]
fn a_lost_answer_is_not_silence_and_a_slow_agent_is_left() {
    // Of three tries one is answered, so that every request takes two seconds.
    let mut count = 0;
    let sample = asked(move |request| {
        count += 1;
        (count % 3 == 0).then(|| honest(request))
    });
    assert!(
        sample.is_err_and(|error| matches!(error, SwitchError::Slow { .. } | SwitchError::Silent { .. }))
    );
    let mut lost = false;
    let sample = asked(move |request| {
        let first = !std::mem::replace(&mut lost, true);
        (!first).then(|| honest(request))
    });
    assert_eq!(sample.expect("a sample").ports.len(), 1);
}

#[test]
fn objects_that_do_not_increase_end_the_questions() {
    for step in [0_u64, 1] {
        let error = asked(move |request| {
            let (number, names) = understand(request);
            let column = names[0][..10].to_vec();
            // It turns round and round between the same rows.
            let row = |index: u64| ([column.clone(), vec![index]].concat(), INTEGER, vec![6]);
            Some(answer(number, 0, &vec![row(5), row(5 - step)]))
        });
        let error = error.expect_err("a loop");
        assert!(matches!(error, SwitchError::Endless { .. }), "{error:?}");
    }
}

#[test]
fn tables_without_end_are_left() {
    let mut next = 0_u64;
    let error = asked(move |request| {
        let (number, names) = understand(request);
        let rows = (0..2500).map(|_| {
            next += 1;
            ([names[0][..10].to_vec(), vec![next]].concat(), INTEGER, vec![6])
        });
        Some(answer(number, 0, &rows.collect()))
    });
    let error = error.expect_err("it has no end");
    assert!(matches!(error, SwitchError::Endless { .. }), "{error:?}");
}

#[test]
fn errors_and_answers_to_others_are_named() {
    let error = asked(|request| Some(answer(understand(request).0, 5, &vec![]))).expect_err("an error");
    assert!(matches!(error, SwitchError::Refused { status: 5, .. }), "{error:?}");
    let error =
        asked(|request| Some(answer(understand(request).0 ^ 1, 0, &vec![]))).expect_err("another number");
    assert!(matches!(error, SwitchError::Garbled { .. }), "{error:?}");
    let error = asked(|request| Some(answer(understand(request).0, 0, &vec![]))).expect_err("no values");
    assert!(matches!(error, SwitchError::Garbled { .. }), "{error:?}");
}

#[test]
fn names_of_interfaces_reach_no_terminal() {
    let sample = asked(|request| {
        let evil = honest(request);
        let at = evil.windows(2).position(|two| two == b"p1");
        Some(at.map_or(evil.clone(), |at| [&evil[..at], b"\x1b1", &evil[at + 2..]].concat()))
    });
    assert_eq!(sample.expect("a sample").ports[0].interface, "1");
}

/// Bytes at random, and honest answers in which some bytes are others, are cut off or come twice.
#[test]
fn nothing_that_comes_makes_a_panic() {
    let panics = Arc::new(AtomicUsize::new(0));
    let usual = panic::take_hook();
    let count = Arc::clone(&panics);
    panic::set_hook(Box::new(move |info| {
        count.fetch_add(1, Ordering::Relaxed);
        usual(info);
    }));
    for seed in 0..400 {
        let mut random = Random::new(seed);
        let _ = asked(move |request| {
            let mut bytes = if random.chance(20) { vec![0; random.index(2000)] } else { honest(request) };
            match random.below(4) {
                _ if bytes.iter().all(|byte| *byte == 0) => random.fill(&mut bytes),
                0 => bytes.truncate(random.index(bytes.len() + 1)),
                1 => bytes.extend_from_within(random.index(bytes.len())..),
                _ => (),
            }
            for _ in 0..random.below(3) {
                if !bytes.is_empty() {
                    let at = random.index(bytes.len());
                    bytes[at] ^= 1 << random.below(8);
                }
            }
            Some(bytes)
        });
    }
    assert_eq!(panics.load(Ordering::Relaxed), 0);
}

#[test]
fn a_silent_switch_delays_no_other_and_all_end_in_time() {
    let silent = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let well = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let (at, well_at) = (silent.local_addr().expect("an address"), well.local_addr().expect("an address"));
    well.set_read_timeout(Some(Duration::from_secs(60))).expect("sets");
    thread::spawn(move || {
        let mut buffer = [0; 65_536];
        while let Ok((length, from)) = well.recv_from(&mut buffer) {
            let _ = well.send_to(&honest(&buffer[..length]), from);
        }
    });
    let switch = |name: &str, address: &str| {
        format!("[[switch]]\nname = \"{name}\"\nports = 4\nmanagement = \"{address}\"\n")
    };
    let text = format!(
        "[[host]]\nname = \"n1\"\nnic = [{{ name = \"eth1\" }}]\n{}{}{}[[cable]]\n\
         ends = [\"n1:eth1\", \"well:1\"]\n",
        switch("silent", &at.to_string()),
        switch("well", &well_at.to_string()),
        switch("nowhere", "no-such-name.invalid"),
    );
    let answers = Switches::of(&Cluster::parse(&text, None).expect("a cluster")).ask();
    let problems: Vec<_> = answers.iter().map(|answer| answer.problems()).collect();
    assert!(problems[0][0].starts_with("silent: no answer by SNMP from 127.0.0.1:"), "{problems:?}");
    assert!(problems[1].is_empty() && answers[1].answer.is_ok(), "{problems:?}");
    assert!(problems[2][0].starts_with("nowhere: "), "{problems:?}");
}
