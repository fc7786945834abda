//! Results in `lab-init`, and the texts of its errors.

/// The result of something in `lab-init`. Errors are texts, because they are reported to another process.
pub(super) type Outcome<T> = Result<T, String>;

/// For `map_err`: what was attempted, and what the system said.
pub(super) fn while_doing<E: std::fmt::Display>(what: impl std::fmt::Display) -> impl FnOnce(E) -> String {
    move |error| format!("{what}: {error}")
}
