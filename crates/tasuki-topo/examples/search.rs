//! What the search for graphs finds, and how long it takes on one processor.
//!
//! `cargo run --release -p tasuki-topo --example search -- [VERTICES DEGREE [SEEDS [EFFORT]]]`: by default
//! the graphs of the Graph Golf competition of 2016 with up to 256 vertices, and (64, 3), (64, 4), one seed,
//! the default effort.

use std::error::Error;
use std::time::Instant;
use tasuki_topo::search::{DEFAULT_EFFORT, least_average, least_diameter, order_degree};

fn main() -> Result<(), Box<dyn Error>> {
    let words: Result<Vec<u64>, _> = std::env::args().skip(1).map(|word| word.parse::<u64>()).collect();
    let words = words?;
    let word = |at: usize, default: u64| words.get(at).copied().unwrap_or(default);
    let graphs = match words[..] {
        [vertices, degree, ..] => vec![(vertices as usize, degree as usize)],
        _ => vec![(36, 3), (64, 3), (64, 4), (64, 8), (96, 3), (256, 8)],
    };
    for (vertices, degree) in graphs {
        for seed in 1..=word(2, 1) {
            let begin = Instant::now();
            let found = order_degree(vertices, degree, seed, word(3, DEFAULT_EFFORT))?;
            println!(
                "{vertices:>4} {degree:>2} seed {seed:>2}: diameter {} (least {}), average {:.5} (least \
                 {:.5}), {:.2} s",
                found.diameter,
                least_diameter(vertices, degree),
                found.average,
                least_average(vertices, degree),
                begin.elapsed().as_secs_f64()
            );
        }
    }
    Ok(())
}
