//! Compiles the striping program from C to eBPF.

fn main() {
    tasuki_bpf_build::compile("bpf/stripe.bpf.c");
}
