//! The history, beside a plain list of all that was recorded.

use super::*;
use tasuki_random::Random;
use tasuki_testkit::replay::Replay;

/// Figures, with not-a-number as `None`.
fn known(values: &[f32]) -> Vec<Option<f32>> {
    values.iter().map(|value| (!value.is_nan()).then_some(*value)).collect()
}

#[test]
fn an_hour_and_a_day_are_kept_and_seconds_without_figures_are_unknown() {
    let replay =
        Replay { variable: "TASUKI_TEST_HISTORY_SEED", command: "cargo test --release -p tasuki-dashboard" };
    replay.each(20, |seed| {
        let mut random = Random::new(seed);
        let mut history = History::new(2);
        let (mut second, mut all) = (random.below(100), Vec::<(u64, Option<f32>)>::new());
        for _ in 0..random.below(9000) {
            let value = (!random.chance(10)).then(|| random.below(1000) as f32);
            history.record(second, &[0.0, value.unwrap_or(f32::NAN)]);
            all.push((second, value));
            second += 1 + if random.per_mille(3) { random.magnitude(5000) } else { 0 };
        }
        let Some(last) = all.last().map(|(second, _)| *second) else { return };
        let of = |second: u64| all.iter().find(|(at, _)| *at == second).and_then(|(_, value)| *value);
        let hour = history.series(Span::Hour, 1).expect("a column");
        let first = (last + 1).saturating_sub(3600).max(all[0].0);
        assert_eq!((hour.step, hour.end), (1, last + 1));
        assert_eq!(known(&hour.mean), (first..=last).map(of).collect::<Vec<_>>());
        let day = history.series(Span::Day, 1).expect("a column");
        let steps = (all[0].0 / 30)..(last / 30);
        assert_eq!(
            (day.step, day.end, day.mean.len()),
            (30, last / 30 * 30, steps.clone().count().min(2880))
        );
        let skipped = steps.clone().count() - day.mean.len();
        for (at, step) in steps.skip(skipped).enumerate() {
            let values: Vec<f32> = (30 * step..30 * step + 30).filter_map(of).collect();
            let mean = values.iter().sum::<f32>() / values.len() as f32;
            let most = values.iter().copied().reduce(f32::max);
            assert_eq!(known(&[day.mean[at], day.most[at]]), [(!mean.is_nan()).then_some(mean), most]);
        }
    });
}

#[test]
fn a_time_that_is_not_later_and_rows_of_another_length_are_left_out() {
    let mut history = History::new(1);
    history.record(7, &[1.0]);
    history.record(7, &[2.0]);
    history.record(3, &[3.0]);
    history.record(8, &[4.0, 5.0]);
    let hour = history.series(Span::Hour, 0).expect("a column");
    assert_eq!((known(&hour.mean), hour.end), (vec![Some(1.0)], 8));
    assert!(history.series(Span::Hour, 1).is_none());
}

#[test]
fn a_ring_that_slept_for_long_has_its_size_and_goes_on() {
    let mut history = History::new(1);
    history.record(5, &[1.0]);
    history.record(1 << 40, &[2.0]);
    let hour = history.series(Span::Hour, 0).expect("a column");
    assert_eq!((hour.mean.len(), hour.end), (3600, (1 << 40) + 1));
    assert_eq!(known(&hour.mean[3598..]), [None, Some(2.0)]);
}

/// Memory does not grow with time: the allocations that two days leave are those that the first row made.
#[test]
fn two_days_take_what_was_computed() {
    let columns = 40;
    let mut history = History::new(columns);
    let size = |history: &History| 4 * (history.hour.values.capacity() + history.day.values.capacity());
    let before = size(&history);
    for second in 0..2 * 86_400 {
        history.record(second, &vec![second as f32; columns]);
    }
    assert_eq!((before, size(&history)), (History::bytes(columns), History::bytes(columns)));
    assert_eq!(history.series(Span::Day, 3).expect("a column").mean.len(), 2880);
}
