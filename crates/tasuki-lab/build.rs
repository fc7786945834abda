//! Compiles the wire program from C to eBPF.

fn main() {
    tasuki_bpf_build::compile("bpf/wire.bpf.c");
}
