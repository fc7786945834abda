//! Every lock-free protocol is gone through by a model checker, and finds that something is wrong when one of
//! its orderings is.
//!
//! `cargo test --release -p tasuki-models -- --nocapture` says what each model has gone through, and which
//! scenario finds which defect.

use tasuki_models::protocols::{BIASED_LOCK, COALESCE_WATCH, DUAL_COPY, RING, STATS_PAGE};
use tasuki_models::{check, check_excuses};

#[test]
fn the_biased_lock_lets_in_one_at_a_time() {
    check(&BIASED_LOCK);
}

#[test]
fn records_of_a_ring_arrive_whole_and_in_order_and_none_is_left_lying() {
    check(&RING);
}

#[test]
fn every_byte_of_a_dual_copy_is_written_once() {
    check(&DUAL_COPY);
}

#[test]
fn no_coalesced_message_is_left_lying() {
    check(&COALESCE_WATCH);
}

#[test]
fn no_record_of_the_statistics_page_is_read_torn() {
    check(&STATS_PAGE);
}

#[test]
#[ignore = "two minutes: goes through all models once more for each defect that is excused"]
fn no_excuse_is_out_of_date() {
    [&BIASED_LOCK, &RING, &DUAL_COPY, &COALESCE_WATCH, &STATS_PAGE].into_iter().for_each(check_excuses);
}
