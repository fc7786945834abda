//! Trials of peers that live, are stopped, or are gone.

use super::*;

/// A datagram's payload that begins with `nonce`, as an ICMP message quotes it.
fn quote(nonce: Nonce) -> Vec<u8> {
    [&nonce[..], &[0; 3]].concat()
}

/// Counts the rounds until a peer is declared gone if nothing arrives from it and its host goes on
/// refusing.
fn rounds_until_gone(suspicion: &mut Suspicion, heard: u64) -> u32 {
    let rounds = (1..10_000).find(|_| {
        let finding = suspicion.judge(heard, false);
        assert_eq!(suspicion.refused(&[], heard), Meaning::Repeated);
        finding == Finding::Gone
    });
    rounds.expect("a bound")
}

/// A knock with this number is refused, and nothing has arrived since it was sent.
fn tried(suspicion: &mut Suspicion, number: u8, heard: u64) {
    suspicion.knocked([number; 16], heard, Time(0));
    assert_eq!(suspicion.refused(&quote([number; 16]), heard), Meaning::TrialBegins);
}

#[test]
fn a_peer_whose_host_refuses_and_that_is_silent_is_gone() {
    let mut suspicion = Suspicion::default();
    assert_eq!(suspicion.judge(7, false), Finding::NoTrial);
    tried(&mut suspicion, 1, 7);
    assert_eq!(rounds_until_gone(&mut suspicion, 7), liveness::ROUNDS);
}

#[test]
fn one_refusal_is_enough_if_no_more_arrive_but_takes_more_rounds() {
    let mut suspicion = Suspicion::default();
    tried(&mut suspicion, 1, 0);
    // More refusals before the first round are of the same moment.
    assert_eq!(suspicion.refused(&quote([1; 16]), 0), Meaning::Repeated);
    for _ in 1..liveness::ROUNDS * liveness::UNREPEATED {
        assert_eq!(suspicion.judge(0, false), Finding::Silent);
    }
    assert_eq!(suspicion.judge(0, false), Finding::Gone);
}

#[test]
fn refusals_that_quote_no_knock_begin_nothing() {
    let mut suspicion = Suspicion::default();
    assert_eq!(suspicion.refused(&[], 0), Meaning::Hint, "nothing was knocked at");
    suspicion.knocked([1; 16], 0, Time(0));
    for forged in [&[][..], &[1; 15], &[2; 16], &[0; 500]] {
        assert_eq!(suspicion.refused(forged, 0), Meaning::Hint, "{forged:?}");
    }
    assert!(!suspicion.is_on_trial());
    assert_eq!(suspicion.judge(0, false), Finding::NoTrial);
}

#[test]
fn a_refusal_may_arrive_after_the_next_knock_but_not_after_many() {
    let mut suspicion = Suspicion::default();
    for number in 0..6 {
        suspicion.knocked([number; 16], 0, Time(0));
    }
    assert_eq!(suspicion.refused(&quote([1; 16]), 0), Meaning::Hint);
    assert_eq!(suspicion.refused(&quote([2; 16]), 0), Meaning::TrialBegins);
}

#[test]
fn a_peer_that_was_heard_after_the_knock_lives() {
    let mut suspicion = Suspicion::default();
    suspicion.knocked([1; 16], 3, Time(0));
    assert_eq!(suspicion.refused(&quote([1; 16]), 4), Meaning::Hint);
    assert!(!suspicion.is_on_trial());
    assert_eq!(suspicion.rounds, 2 * liveness::ROUNDS, "its host was wrong");
    assert_eq!(suspicion.refused(&quote([1; 16]), 4), Meaning::Hint);
    assert_eq!(suspicion.rounds, 2 * liveness::ROUNDS, "the same knock once more");
    tried(&mut suspicion, 2, 4);
    assert_eq!(suspicion.judge(4, false), Finding::Silent);
    assert_eq!(suspicion.judge(5, false), Finding::Lives);
    assert!(!suspicion.is_on_trial());
}

#[test]
fn a_host_that_was_wrong_is_believed_after_more_rounds_each_time_up_to_half_a_minute() {
    let (mut suspicion, mut heard, mut rounds) = (Suspicion::default(), 0, liveness::ROUNDS);
    for _ in 0..10 {
        tried(&mut suspicion, 1, heard);
        for _ in 1..rounds {
            assert_eq!(suspicion.judge(heard, false), Finding::Silent);
            assert_eq!(suspicion.refused(&[], heard), Meaning::Repeated);
        }
        heard += 1;
        assert_eq!(suspicion.judge(heard, false), Finding::Lives, "just in time");
        rounds = (2 * rounds).min(liveness::ROUNDS_MAX);
    }
    tried(&mut suspicion, 1, heard);
    assert_eq!(rounds_until_gone(&mut suspicion, heard), liveness::ROUNDS_MAX);
}

/// A firewall refuses datagrams to the identity address alone, and the process behind it is stopped.
#[test]
fn a_host_that_refuses_at_its_identity_address_alone_is_believed_late() {
    let mut suspicion = Suspicion::default();
    tried(&mut suspicion, 1, 7);
    for _ in 1..liveness::ROUNDS * liveness::CONTRADICTED {
        assert_eq!(suspicion.judge(7, true), Finding::Silent);
        assert_eq!(suspicion.refused(&[], 7), Meaning::Repeated);
    }
    assert_eq!(suspicion.judge(7, true), Finding::Gone, "at last");
}

#[test]
fn a_host_that_refuses_at_a_nic_too_is_believed_soon_unless_the_peer_was_heard_since() {
    for (refused_at_nic, contradicted) in [(7, 1), (6, liveness::CONTRADICTED)] {
        let mut suspicion = Suspicion::default();
        suspicion.refused_at_nic(refused_at_nic);
        tried(&mut suspicion, 1, 7);
        let rounds = (1..10_000).find(|_| {
            let finding = suspicion.judge(7, true);
            suspicion.refused(&[], 7);
            finding == Finding::Gone
        });
        assert_eq!(rounds, Some(liveness::ROUNDS * contradicted));
    }
}

/// Rounds of a trial in so many seconds.
fn rounds_in(seconds: u32) -> u32 {
    5 * seconds
}

/// Linux sends one refusal a second when many are asked for, shared by all ranks of a host: a second
/// without another one proves nothing.
#[test]
fn a_host_that_refuses_once_a_second_is_waited_for() {
    let mut suspicion = Suspicion::default();
    tried(&mut suspicion, 1, 0);
    for _ in 0..rounds_in(1) {
        assert_eq!(suspicion.judge(0, false), Finding::Silent);
    }
}

#[test]
fn a_process_behind_a_firewall_may_be_stopped_for_some_seconds() {
    let mut suspicion = Suspicion::default();
    tried(&mut suspicion, 1, 7);
    for _ in 0..rounds_in(4) {
        assert_eq!(suspicion.judge(7, true), Finding::Silent);
        assert_eq!(suspicion.refused(&[], 7), Meaning::Repeated);
    }
}

#[test]
fn contradiction_makes_no_trial_longer_than_the_bound() {
    let mut suspicion = Suspicion::default();
    (0..10).for_each(|_| suspicion.was_wrong());
    tried(&mut suspicion, 1, 0);
    let rounds = (1..10_000).find(|_| suspicion.judge(0, true) == Finding::Gone);
    assert_eq!(rounds, Some(liveness::ROUNDS_MAX * liveness::UNREPEATED), "as without it");
}
