//! Bytes that no node has sent.

use tasuki_dsm::{Access, Config, Lock, Message, Node, NodeId, Page};
use tasuki_random::Random;

/// Whatever comes, and from whomever, a node does not panic, and sends nothing to itself or to nobody.
#[test]
fn any_bytes_are_a_message_or_an_error() {
    let mut random = Random::new(1);
    let config = Config { me: NodeId(1), nodes: 4, pages: 8, run: 2, hold: 1000 };
    let (mut node, mut accepted) = (Node::new(config), 0);
    for now in 0..500_000 {
        if now % 100 == 0 {
            node = Node::new(config);
            node.fault(Page(now as u32 / 100 % 8), Access::Read, now);
            node.acquire(Lock(now as u32 / 100 % 3), now);
            let _ = node.enter_barrier(3);
        }

        let small = |random: &mut Random, end| random.below(end) as u8;
        let mut bytes = [small(&mut random, 13), 0, 0, 0, small(&mut random, 9), 0, 0, 0];
        (bytes[1], bytes[2]) = (small(&mut random, 3), small(&mut random, 2) * small(&mut random, 5));
        bytes[3] = if bytes[0] == 8 { small(&mut random, 6) } else { 0 };
        if random.chance(10) {
            bytes[random.index(Message::LEN)] = small(&mut random, 256);
        }
        let Ok(message) = Message::from_bytes(&bytes) else { continue };
        assert_eq!(message.to_bytes(), bytes);
        accepted += u64::from(node.handle(NodeId(random.below(6) as u8), message, now).is_ok());
        node.handle_timeout(now);
        while let Some(action) = node.poll_action() {
            if let tasuki_dsm::Action::Send { to, .. } | tasuki_dsm::Action::SendPage { to, .. } = action {
                assert!(to != NodeId(1) && to.0 < 4, "{action:?}");
            }
        }
    }
    assert!(accepted > 1000, "{accepted}");
}
