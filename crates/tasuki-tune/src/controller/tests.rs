//! The controller against hosts whose samples follow from the length alone.

use super::{
    evidence::{TOLERATED, decided, leaning},
    *,
};
use tasuki_random::Random;

fn controller() -> Controller {
    Controller::new(Lengths::new(0, 10, 640).unwrap())
}

/// Runs against a host whose sample follows from the length alone.
fn settle(controller: &mut Controller, mut host: impl FnMut(u32) -> Sample, periods: usize) -> Vec<Decision> {
    let mut us = controller.best_us();
    let mut decisions = Vec::new();
    for _ in 0..periods {
        let decision = controller.step(&host(us));
        us = decision.us;
        decisions.push(decision);
    }
    decisions
}

fn waits(us: u32) -> Sample {
    let packets = 1e5 / (60.0 + f64::from(us.max(60)));
    Sample {
        seconds: 0.1,
        busy: 0.3,
        user: 0.1,
        packets: packets * 10.0,
        sent: 0.0,
        interrupts: packets * 10.0,
    }
}

fn computes(us: u32) -> Sample {
    let interrupts = 1e5 / f64::from(us.max(20));
    Sample { seconds: 0.1, busy: 1.0, user: 0.9 - interrupts * 1e-4, packets: 5000.0, sent: 0.0, interrupts }
}

#[test]
fn a_program_that_waits_gets_no_delay_that_lengthens_its_wait() {
    let mut controller = controller();
    controller.at = 6;
    settle(&mut controller, waits, 100);
    assert_eq!(controller.best_us(), 0, "no difference up to 60 us: the shortest");
}

#[test]
fn a_program_that_computes_gets_a_long_delay() {
    let mut controller = controller();
    settle(&mut controller, computes, 100);
    // From 320 to 640 us the gain is too small to be noticed.
    assert!(controller.best_us() >= 320, "{}", controller.best_us());
}

/// A program that waits, beside a stream that comes at random and is eight times as much. The number of
/// answers per period follows from the length.
fn beside_a_stream(us: u32, random: &mut Random) -> Sample {
    // Answers as measured on veth, where the kernel's timer costs more than an interrupt.
    let answers = match us {
        0 => 1000.0,
        10 => 400.0,
        20 => 700.0,
        40 => 980.0,
        80 => 1150.0,
        160 => 900.0,
        _ => 1.5e5 / f64::from(us),
    };
    let noise = random.uniform() - 0.5;
    Sample {
        seconds: 0.25,
        busy: 0.7,
        user: 0.3 + 0.2 * noise,
        packets: 8000.0 + 200.0 * noise + answers,
        sent: answers,
        interrupts: 8000.0 + answers,
    }
}

#[test]
fn what_programs_send_tells_beside_a_stream_and_worse_lengths_between_are_no_obstacle() {
    let (mut controller, mut random) = (controller(), Random::new(1));
    settle(&mut controller, |us| beside_a_stream(us, &mut random), 200);
    assert_eq!(controller.best_us(), 80);
}

#[test]
fn a_loss_that_is_not_certain_is_no_reason_to_go_there() {
    // Differences of what is sent: -9 % on average, which four comparisons do not prove.
    let rounds = [-0.2, 0.02, -0.17, -0.01].map(|sent| [sent, 0.0, 0.0]);
    assert_eq!(decided(&rounds), None);
    assert!(leaning(&rounds) < -TOLERATED);
    assert_eq!(leaning(&[[0.01, -0.01, 0.0], [-0.01, 0.02, 0.01]]), 0.0);
}

#[test]
fn a_load_is_known_whichever_length_is_in_force_when_it_comes_back() {
    let other = |us: u32| Sample { packets: 3.0 * waits(us).packets, ..waits(us) };
    let loads: [&dyn Fn(u32) -> Sample; 3] = [&waits, &computes, &other];
    let mut controller = controller();
    // In this order each load follows each of the others.
    for (turn, load) in [0, 1, 2, 0, 2, 1, 0, 1, 2].into_iter().enumerate() {
        let decisions = settle(&mut controller, loads[load], 150);
        let surveyed = decisions.iter().any(|decision| decision.reason == Reason::Survey);
        assert_eq!(surveyed, turn < 3, "turn {turn}, load {load}: {decisions:?}");
    }
}

#[test]
fn where_no_processor_is_ever_idle_what_makes_no_difference_is_longer() {
    let mut controller = controller();
    let host =
        |busy| move |_: u32| Sample { seconds: 0.25, busy, user: 0.8, packets: 8000.0, ..Sample::default() };
    settle(&mut controller, host(1.0), 100);
    assert_eq!(controller.best_us(), 640);
    let mut controller = self::controller();
    settle(&mut controller, host(0.5), 100);
    assert_eq!(controller.best_us(), 0);
}

#[test]
fn trials_become_rare_once_nothing_is_better() {
    let mut controller = controller();
    settle(&mut controller, computes, 300);
    let later = settle(&mut controller, computes, 300);
    let away = later.iter().filter(|decision| decision.us != controller.best_us()).count();
    assert!(away < 60, "{away} of 300");
}

#[test]
fn a_load_that_comes_again_is_known_again() {
    let mut controller = controller();
    let mut took = Vec::new();
    for _ in 0..4 {
        settle(&mut controller, computes, 120);
        let goal = controller.best_us();
        settle(&mut controller, waits, 120);
        assert_eq!(controller.best_us(), 0);
        let back = settle(&mut controller.clone(), computes, 120);
        took.push(back.iter().position(|decision| decision.us == goal).unwrap());
    }
    assert!(took[3] <= 3, "{took:?}");
}

#[test]
fn a_quiet_host_has_no_delay() {
    let mut controller = controller();
    controller.at = 5;
    let sample = Sample { seconds: 0.1, packets: 3.0, ..Sample::default() };
    assert_eq!(controller.step(&sample), Decision { us: 0, reason: Reason::Quiet });
    assert_eq!(controller.step(&sample), Decision { us: 0, reason: Reason::Steady });
}

#[test]
fn nonsense_changes_nothing_for_the_worse() {
    let mut controller = controller();
    for bad in [f64::NAN, f64::INFINITY, -1.0, 0.0] {
        for _ in 0..50 {
            let sample =
                Sample { seconds: bad, busy: bad, user: bad, packets: bad, sent: bad, interrupts: bad };
            assert!(controller.step(&sample).us <= 640);
        }
    }
    settle(&mut controller, computes, 200);
    assert!(controller.best_us() >= 320);
}
