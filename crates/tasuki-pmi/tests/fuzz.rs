//! Ranks that send anything, cut anywhere: the server never panics, its answers do not depend on where
//! reads were cut, a rank that breaks the protocol is cut off alone, and the others get their answers.

use tasuki_pmi::{Action, FenceIn, FenceOut, JobShape, Joint, Limits, Node};
use tasuki_random::Random;
use tasuki_testkit::replay::Replay;

const REPLAY: Replay = Replay { variable: "TASUKI_SEED", command: "cargo test -p tasuki-pmi --test fuzz" };

const SEEDS: u64 = 400;

fn shape() -> JobShape {
    JobShape { name: "job".into(), hosts_of_ranks: vec![0, 0, 0, 1], universe: 4 }
}

/// Words of which requests are made: right ones, wrong ones, and ones that are longer than allowed.
fn word(random: &mut Random) -> String {
    let words = [
        "cmd=init pmi_version=1 pmi_subversion=2",
        "cmd=get_maxes",
        "cmd=get_appnum",
        "cmd=get_my_kvsname",
        "cmd=get_universe_size",
        "cmd=put kvsname=job key=",
        "cmd=get kvsname=job key=",
        "cmd=barrier_in",
        "cmd=barrier_in group=",
        "cmd=finalize",
        "cmd=abort exitcode=",
        "cmd=getbyidx kvsname=job idx=",
        "mcmd=spawn\n",
        "endcmd\n",
        "WORLD:1",
        "NODE:2",
        "0,3:9",
        "0,1,2,3:9",
        "a",
        "b",
        " value=",
        "x=y",
        "\n",
        "\n",
        "18446744073709551616",
        "-1",
        "=",
        " ",
        "\\",
        "\t",
        "cmd=",
        "mcmd=",
    ];
    match random.below(40) {
        0 => "z".repeat(random.magnitude(3000) as usize),
        1 => String::from_utf8_lossy(&[random.below(256) as u8]).into_owned(),
        _ => random.pick(&words).to_owned(),
    }
}

fn speech(random: &mut Random) -> Vec<u8> {
    let mut text = String::new();
    if random.chance(90) {
        text.push_str("cmd=init pmi_version=1 pmi_subversion=1\n");
    }
    for _ in 0..random.below(60) {
        text.push_str(&word(random));
        if random.chance(60) {
            text.push('\n');
        }
    }
    text.into_bytes()
}

/// Gives a speech to rank 0 in pieces, and returns what follows of it. Fences are ended at once.
fn hear(node: &mut Node, limits: Limits, speech: &[u8], mut cut: impl FnMut(usize) -> usize) -> Vec<Action> {
    let mut actions = Vec::new();
    let mut rest = speech;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(cut(rest.len()));
        node.receive(0, piece);
        rest = after;
        while let Some(action) = node.poll() {
            if let Action::Fence(part) = &action {
                // Whatever a rank says, what its host passes on is in order.
                let first = FenceIn { number: 1, ..part.clone() };
                let joined = Joint::new(&shape(), limits).unwrap().join(first);
                assert_eq!(joined, Ok(None), "{part:?}");
                let (group, puts) = (part.group.clone(), part.puts.clone());
                node.fenced(&FenceOut { group, number: part.number, puts });
            }
            actions.push(action);
        }
    }
    actions
}

#[test]
fn any_speech_is_answered_alike_wherever_it_is_cut() {
    REPLAY.each(SEEDS, |seed| {
        let mut random = Random::new(seed);
        let speech = speech(&mut random);
        let limits = Limits { line: 600, keys: 20, bytes: 4000, barriers: 3, ..Limits::default() };
        let mut node = Node::new(&shape(), 0, limits).unwrap();
        let whole = hear(&mut node, limits, &speech, |len| len);
        let mut other = Node::new(&shape(), 0, limits).unwrap();
        let cut = hear(&mut other, limits, &speech, |len| 1 + random.index(len.min(40)));
        assert_eq!(whole, cut);
        // A refusal is the last word of a rank.
        let refused = whole.iter().position(|action| matches!(action, Action::Refused { .. }));
        assert!(refused.is_none_or(|at| at == whole.len() - 1), "{whole:?}");
        for action in &whole {
            if let Action::Send { bytes, .. } = action {
                let lines = bytes.iter().filter(|byte| **byte == b'\n').count();
                assert!(bytes.starts_with(b"cmd=") && lines == 1 && bytes.ends_with(b"\n"), "{action:?}");
            }
        }
        // The others are answered.
        node.receive(1, b"cmd=init pmi_version=1 pmi_subversion=1\ncmd=get_appnum\n");
        let answers: Vec<_> = std::iter::from_fn(|| node.poll()).collect();
        let sent = answers.iter().filter(|action| matches!(action, Action::Send { rank: 1, .. }));
        assert_eq!(sent.count(), 2, "{answers:?}");
        node.closed(0);
        node.closed(1);
    });
}
