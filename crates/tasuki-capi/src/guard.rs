//! Bodies of calls from C: no panic unwinds into C, and results become codes.

use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::code::{Code, Error, remember};

/// Runs the body of a call that returns a number, or a code if it fails.
pub fn call(body: impl FnOnce() -> Result<c_int, Error>) -> c_int {
    // A panic may have left something half done behind the engine's locks, which are taken all the same after
    // a panic.
    let error = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(value)) => return value,
        Ok(Err(error)) => error,
        Err(_) => Error::new(Code::Internal, "a call panicked: this is a defect of Tasuki"),
    };
    remember(&error.text);
    error.code as c_int
}

/// Runs the body of a call that returns `TASUKI_OK`, or a code if it fails.
pub fn unit(body: impl FnOnce() -> Result<(), Error>) -> c_int {
    call(|| body().map(|()| 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::{tasuki_last_error, tasuki_strerror};
    use std::ffi::{CStr, c_char};

    fn text(of: *const c_char) -> String {
        assert!(!of.is_null());
        // SAFETY: both functions give strings that stay valid for the length of this call.
        unsafe { CStr::from_ptr(of) }.to_string_lossy().into_owned()
    }

    #[test]
    fn panics_and_errors_become_codes_with_words() {
        assert_eq!(call(|| Ok(7)), 7);
        assert_eq!(unit(|| panic!("as a test")), -15);
        assert_eq!(text(tasuki_last_error()), "a call panicked: this is a defect of Tasuki");
        assert_eq!(unit(|| Err(Error::invalid("no\0such thing"))), -1);
        assert_eq!(text(tasuki_last_error()), "no such thing");
        assert_eq!(text(tasuki_strerror(-15)), "a defect of the library");
        assert_eq!(text(tasuki_strerror(-1000)), "unknown error code");
    }
}
