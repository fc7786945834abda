//! NCCL's log, which the plug-in writes to: users see it with NCCL_DEBUG=WARN or INFO.

use std::ffi::{CString, c_char, c_int, c_ulong};

/// `ncclDebugLogger_t`: level, subsystems, file, line, and a format with its arguments.
pub(crate) type LogFunction =
    Option<unsafe extern "C" fn(c_int, c_ulong, *const c_char, c_int, *const c_char, ...)>;

/// Levels of `ncclDebugLogLevel`.
const WARN: c_int = 2;
const INFO: c_int = 3;

/// Subsystems of a line: `NCCL_NET` and `NCCL_INIT` for information, all for warnings.
const NET: c_ulong = 16 | 1;
const ALL: c_ulong = !0;

/// NCCL's log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Log(pub LogFunction);

impl Log {
    /// Something is wrong.
    pub fn warn(self, text: &str) {
        self.line(WARN, ALL, text);
    }

    /// Worth knowing for somebody who looks.
    pub fn info(self, text: &str) {
        self.line(INFO, NET, text);
    }

    fn line(self, level: c_int, subsystems: c_ulong, text: &str) {
        let Some(function) = self.0 else { return };
        // A zero byte would end the text, and nothing of it is worth losing the rest.
        let text = CString::new(format!("NET/Tasuki : {text}").replace('\0', "?")).unwrap_or_default();
        // SAFETY: the function is NCCL's, which stays loaded while it uses this plug-in; the format asks for
        // one string, and all strings end in zero and live through the call.
        unsafe { function(level, subsystems, c"tasuki-nccl".as_ptr(), 0, c"%s".as_ptr(), text.as_ptr()) };
    }
}
