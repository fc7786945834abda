//! Prints the constants whose value a test holds, one on each line, for `scripts/check-tuning`: name,
//! variable of a build, default, other value, and the command whose test should fail with it, between tabs.

use tasuki_tuning::{Measure, constants};

fn main() {
    for constant in constants() {
        let Measure::Test { other, command } = constant.measure else { continue };
        let (name, variable) = (constant.full_name(), constant.variable());
        println!("{name}\t{variable}\t{}\t{other}\t{command}", constant.default);
    }
}
