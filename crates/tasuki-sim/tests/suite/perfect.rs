//! The oracle and the message layer without the packet layer: over a carrier without faults nothing may fail.

use tasuki_sim::transport::{Carriage, Options, run};

#[test]
fn nothing_fails_without_faults() {
    let options = Options { carriage: Carriage::Perfect, ..Options::default() };
    for seed in 0..300 {
        if let Err(failure) = run(seed, options) {
            panic!("{failure}");
        }
    }
}
