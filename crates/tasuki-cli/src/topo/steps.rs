//! Steps of a computation on a progress bar.

use indicatif::ProgressBar;

/// A function that shows the name of the step that begins on a progress bar, and moves the bar on.
pub fn steps(bar: &ProgressBar) -> impl FnMut(&str) {
    |what| {
        bar.set_message(what.to_owned());
        bar.inc(1);
    }
}
