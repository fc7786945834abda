//! Prints figures 5 to 7 of the ATM paper, and the further cases of `tasuki topo receivers`, for a few
//! message lengths.

use tasuki_sim::transport::{ALL_PACINGS, Receivers};

fn main() {
    for case in Receivers::all() {
        for message in [500_000u64, 1_500_000, 5_000_000] {
            print!("{:26} {message:8} of {:5.1}:", case.name, case.most_bps() / 1e6);
            for pacing in ALL_PACINGS {
                match case.send(message, pacing) {
                    Ok(sent) => {
                        let n = sent.len() as f64;
                        let mbps =
                            sent.iter().map(|sent| message as f64 * 8e-6 / sent.seconds).sum::<f64>() / n;
                        let lost = sent.iter().map(|sent| sent.lost).sum::<f64>() / n * 100.0;
                        print!("  {} {mbps:.1} Mbit/s {lost:.2} %", pacing.name());
                    }
                    Err(failure) => print!("  {}: {}", pacing.name(), failure.complaint),
                }
            }
            println!();
        }
    }
}
