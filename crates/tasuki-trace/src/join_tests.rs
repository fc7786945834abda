//! Tests of how parts become a trace.

use super::*;
use crate::part::Head;

fn name(rank: u32) -> Name {
    Name([rank as u8 + 1; 32])
}

/// The part of a rank, which knows ranks 0 to 3 as peers 10 to 13 and closes its endpoint.
fn part(rank: u32, messages: &[(Direction, u32, u64, u64, u64)]) -> Part {
    let mut records: Vec<_> = (0..4).map(|peer| Record::Peer { peer: 10 + peer, name: name(peer) }).collect();
    for (at, (direction, peer, tag, bytes, compute)) in (0u64..).zip(messages) {
        let at = 1_000_000 * u64::from(rank + 1) + 10_000 * at;
        let message = Message { peer: 10 + peer, tag: Some(*tag), bytes: *bytes, at, compute: *compute };
        records.push(match direction {
            Direction::Send => Record::Send(message),
            Direction::Receive => Record::Receive(message),
        });
    }
    records.push(Record::End { at: 9_000_000, compute: 50, one_sided: u64::from(rank) });
    Part { head: Head { rank: Some(rank), name: name(rank) }, records }
}

use Direction::{Receive, Send};

#[test]
fn messages_that_passed_each_other_stand_in_the_order_of_sending() {
    let sender = part(0, &[(Send, 1, 7, 100, 900), (Send, 1, 8, 200, 3)]);
    let receiver = part(1, &[(Receive, 0, 8, 200, 0), (Receive, 0, 7, 100, 11)]);
    let joined = join(&[receiver, sender]).unwrap();
    let of = |rank: usize| -> Vec<_> {
        joined.ranks[rank]
            .iter()
            .map(|event| (event.direction, event.peer, event.bytes, event.compute))
            .collect()
    };
    // What a rank did before its first message was not between two calls that were seen.
    assert_eq!(of(0), [(Send, 1, 100, 0), (Send, 1, 200, 3)]);
    assert_eq!(of(1), [(Receive, 0, 100, 0), (Receive, 0, 200, 11)]);
    assert_eq!(joined.ends, [50, 50]);
    assert_eq!(joined.left_out, LeftOut { one_sided: 1, ..LeftOut::default() });
}

#[test]
fn what_has_one_end_is_left_out_and_its_computing_goes_on() {
    let sender = part(0, &[(Send, 1, 7, 100, 0), (Send, 1, 9, 100, 500), (Send, 1, 7, 100, 60)]);
    let receiver = part(1, &[(Receive, 0, 7, 100, 0), (Receive, 0, 7, 100, 0), (Receive, 0, 1, 5, 0)]);
    let joined = join(&[sender, receiver]).unwrap();
    assert_eq!(joined.ranks[0].iter().map(|event| event.compute).collect::<Vec<_>>(), [0, 560]);
    assert_eq!((joined.left_out.sends, joined.left_out.receives), (1, 1));
}

#[test]
fn two_endpoints_of_a_rank_are_put_in_order_of_time() {
    let mut second = part(0, &[(Send, 1, 3, 300, 0)]);
    let Record::Send(message) = &mut second.records[4] else { panic!("a send") };
    message.at = 1_005_000;
    second.head.name = Name([99; 32]);
    let first = part(0, &[(Send, 1, 1, 100, 0), (Send, 1, 2, 200, 9_000)]);
    let receiver = part(1, &[(Receive, 0, 1, 100, 0), (Receive, 0, 2, 200, 0), (Receive, 0, 3, 300, 0)]);
    let joined = join(&[first, second, receiver]).unwrap();
    let sent: Vec<_> = joined.ranks[0].iter().map(|event| (event.bytes, event.at, event.compute)).collect();
    assert_eq!(sent, [(100, 0, 0), (300, 5_000, 0), (200, 10_000, 5_000)]);
    assert_eq!(joined.ranks[1].iter().map(|event| event.bytes).collect::<Vec<_>>(), [100, 300, 200]);
}

#[test]
fn ranks_that_are_missing_or_unknown_are_errors() {
    assert_eq!(join(&[]), Err(JoinError::Nothing));
    assert_eq!(join(&[part(0, &[]), part(2, &[])]), Err(JoinError::Missing(1, 2)));
    let mut lost = part(0, &[]);
    lost.head.rank = None;
    assert_eq!(join(&[lost]), Err(JoinError::NoRank));
}

#[test]
fn a_rank_that_did_not_close_its_endpoint_is_counted() {
    let mut killed = part(1, &[(Receive, 0, 7, 100, 0)]);
    killed.records.pop();
    let joined = join(&[part(0, &[(Send, 1, 7, 100, 0)]), killed]).unwrap();
    assert_eq!((joined.left_out.unfinished, &joined.ends[..]), (1, &[50, 0][..]));
}
