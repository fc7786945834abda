//! How a peer has ended. A program whose receive is from any source has to ask, because such receives stay
//! posted.

use tasuki_engine::Standing;

use crate::node::run;
use crate::other::Other;
use crate::stopped::{leaver, meet};

/// How another process stands to an endpoint that waits for a message of anybody, once it has ended. With
/// `is_met` the two have exchanged something, with `is_killed` it does not take leave.
fn standing_after(is_met: bool, is_killed: bool) -> Standing {
    let (mut other, address) = Other::start("stopped::helper", "");
    let mut all = leaver(&address);
    if is_met {
        meet(&mut all, &mut other);
    }
    let peer = all[0].peers[1];
    assert_eq!(all[0].endpoint.standing(peer), Standing::Present);
    all[0].recv(None, Some(9), 0, 8);
    if is_killed {
        other.kill();
    } else {
        other.finish(|| all[0].turn());
    }
    run(&mut all, |all| all[0].endpoint.standing(peer) != Standing::Present);
    assert!(all[0].done.iter().all(|done| !matches!(done, tasuki_engine::Completion::Recv { .. })));
    all[0].endpoint.standing(peer)
}

#[test]
fn a_peer_that_was_killed_has_failed_and_one_that_has_left_has_not() {
    assert_eq!(standing_after(true, true), Standing::Failed);
    assert_eq!(standing_after(true, false), Standing::Parted);
}

/// It may have been at its end before it had anything to say: nobody can know.
#[test]
fn a_peer_that_was_never_met_has_parted_however_it_has_ended() {
    assert_eq!(standing_after(false, true), Standing::Parted);
    assert_eq!(standing_after(false, false), Standing::Parted);
}
