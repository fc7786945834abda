//! The bytes of messages.

use tasuki_dsm::{Access, Lock, Malformed, Message, NodeId, Page};

#[test]
fn bytes_are_as_documented() {
    let page = Page(0x0102_0304);
    let fetch = Message::Fetch { page, access: Access::Write, to: NodeId(9) };
    assert_eq!(fetch.to_bytes(), [1, 2, 9, 0, 4, 3, 2, 1]);
    assert_eq!(Message::Hand(Lock(5)).to_bytes(), [11, 0, 0, 0, 5, 0, 0, 0]);
    assert_eq!(Message::Arrive { of: 5, round: 2, epoch: 7 }.to_bytes(), [8, 0, 2, 5, 7, 0, 0, 0]);
}

#[test]
fn what_no_node_sends_is_refused() {
    assert_eq!(Message::from_bytes(&[0; 7]), Err(Malformed::Length(7)));
    assert_eq!(Message::from_bytes(&[12, 0, 0, 0, 0, 0, 0, 0]), Err(Malformed::Kind(12)));
    assert_eq!(Message::from_bytes(&[0, 0, 0, 0, 0, 0, 0, 0]), Err(Malformed::Field("access", 0)));
    assert_eq!(Message::from_bytes(&[1, 1, 64, 0, 0, 0, 0, 0]), Err(Malformed::Field("node", 64)));
    assert_eq!(Message::from_bytes(&[5, 1, 0, 0, 0, 0, 0, 0]), Err(Malformed::Field("access", 1)));
    assert_eq!(Message::from_bytes(&[5, 0, 0, 1, 0, 0, 0, 0]), Err(Malformed::Field("nodes", 1)));
}
