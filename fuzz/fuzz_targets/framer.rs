#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mework_laws::framer::law(data));
