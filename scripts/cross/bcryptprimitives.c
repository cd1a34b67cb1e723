/* Wine 8 lacks bcryptprimitives.dll, from which Rust's standard library takes its random numbers: without it no Rust
   program starts. This is that library for Wine, with the one function that is asked for. Windows has its own. */
#include <windows.h>
#include <bcrypt.h>

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE bytes, SIZE_T count) {
    const SIZE_T most = 1 << 30; /* The other function counts with 32 bits. */
    while (count > 0) {
        ULONG part = (ULONG)(count > most ? most : count);
        if (BCryptGenRandom(NULL, bytes, part, BCRYPT_USE_SYSTEM_PREFERRED_RNG) != 0) return FALSE;
        bytes += part;
        count -= part;
    }
    return TRUE;
}
