//! Error codes, and their meaning in words.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int};

use tasuki_engine::{Failure, PostError, RegisterError, RemoteFailure, UnregisterError};

/// The codes of `tasuki.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Code {
    Invalid = -1,
    Open = -2,
    Environment = -3,
    Address = -4,
    Peer = -5,
    Closed = -6,
    Claim = -7,
    Lost = -8,
    NotFound = -9,
    Cancelled = -10,
    Failed = -11,
    Gone = -12,
    Truncated = -13,
    Refused = -14,
    Internal = -15,
    Busy = -16,
    Checkpoint = -17,
}

/// All codes with their names in C and their meaning.
pub const CODES: [(Code, &CStr, &CStr); 17] = [
    (
        Code::Invalid,
        c"TASUKI_EINVAL",
        c"an argument is null, out of range, or a flag that the call does not know",
    ),
    (Code::Open, c"TASUKI_EOPEN", c"the endpoint cannot be opened"),
    (Code::Environment, c"TASUKI_EENV", c"a TASUKI_... variable of the environment cannot be used"),
    (Code::Address, c"TASUKI_EADDRESS", c"not the address of an endpoint of this version of Tasuki"),
    (Code::Peer, c"TASUKI_EPEER", c"no such peer: add its address first"),
    (Code::Closed, c"TASUKI_ECLOSED", c"the endpoint is closing"),
    (Code::Claim, c"TASUKI_ECLAIM", c"no message is claimed under this name"),
    (Code::Lost, c"TASUKI_ELOST", c"the claimed message is lost with its sender"),
    (Code::NotFound, c"TASUKI_ENOTFOUND", c"there is no such operation, or it is too late"),
    (Code::Cancelled, c"TASUKI_ECANCELLED", c"the operation was cancelled"),
    (Code::Failed, c"TASUKI_EFAILED", c"the peer has died, or broke the protocol"),
    (Code::Gone, c"TASUKI_EGONE", c"the peer has closed its endpoint"),
    (Code::Truncated, c"TASUKI_ETRUNCATED", c"the message was longer than the memory for it"),
    (
        Code::Refused,
        c"TASUKI_EREFUSED",
        c"the peer has no memory under this key, or the transfer would leave it",
    ),
    (Code::Busy, c"TASUKI_EBUSY", c"transfers are under way in this memory: poll and try again"),
    (Code::Checkpoint, c"TASUKI_ECHECKPOINT", c"a checkpoint cannot be written or read"),
    (Code::Internal, c"TASUKI_EINTERNAL", c"a defect of the library"),
];

/// Why a call has failed: the code that it returns, and the text for `tasuki_last_error`.
#[derive(Debug)]
pub struct Error {
    pub code: Code,
    pub text: String,
}

impl Error {
    pub fn new(code: Code, text: impl ToString) -> Error {
        Error { code, text: text.to_string() }
    }

    pub fn invalid(text: impl ToString) -> Error {
        Error::new(Code::Invalid, text)
    }
}

impl From<PostError> for Error {
    fn from(error: PostError) -> Error {
        let code = match error {
            PostError::UnknownPeer(_) => Code::Peer,
            PostError::UnknownClaim => Code::Claim,
            PostError::ClaimLost => Code::Lost,
            PostError::Closed => Code::Closed,
            PostError::NullBuffer(_) | PostError::Operands => Code::Invalid,
        };
        Error::new(code, error)
    }
}

impl From<RegisterError> for Error {
    fn from(error: RegisterError) -> Error {
        match error {
            RegisterError::Post(error) => error.into(),
            error => Error::new(Code::Internal, error),
        }
    }
}

impl From<UnregisterError> for Error {
    fn from(error: UnregisterError) -> Error {
        let code = match error {
            UnregisterError::Unknown => Code::NotFound,
            UnregisterError::Busy(_) => Code::Busy,
        };
        Error::new(code, error)
    }
}

/// The status of a put or a get.
pub fn remote_status(result: Result<(), RemoteFailure>) -> i32 {
    match result {
        Ok(()) => 0,
        Err(RemoteFailure::Refused | RemoteFailure::Misaligned) => Code::Refused as i32,
        Err(RemoteFailure::Peer(failure)) => status(failure),
    }
}

/// The status of an operation that has failed.
pub fn status(failure: Failure) -> i32 {
    let code = match failure {
        Failure::Cancelled => Code::Cancelled,
        Failure::PeerFailed => Code::Failed,
        Failure::PeerClosed => Code::Gone,
    };
    code as i32
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// Keeps the text for `tasuki_last_error`.
pub fn remember(text: &str) {
    // This crate's texts hold no NUL, but parts that come from files or variables might.
    let text = CString::new(text.replace('\0', " ")).unwrap_or_default();
    // While a thread's variables are destroyed the text cannot be kept, and nobody is left to ask for it.
    let _ = LAST.try_with(|last| last.replace(text));
}

/// See `tasuki.h`.
#[unsafe(no_mangle)]
pub extern "C" fn tasuki_strerror(code: c_int) -> *const c_char {
    if code >= 0 {
        return c"success".as_ptr();
    }
    let known = CODES.iter().find(|(known, ..)| *known as c_int == code);
    known.map_or(c"unknown error code", |(.., meaning)| meaning).as_ptr()
}

/// See `tasuki.h`.
#[unsafe(no_mangle)]
pub extern "C" fn tasuki_last_error() -> *const c_char {
    // The text stays valid until the next failure of this thread replaces it.
    LAST.try_with(|last| last.try_borrow().map_or(c"".as_ptr(), |text| text.as_ptr())).unwrap_or(c"".as_ptr())
}
