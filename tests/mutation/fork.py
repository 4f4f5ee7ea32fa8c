"""One piece of work in a forked process, with bounds on its time and memory."""

import os
import resource
import select
import signal
from collections.abc import Callable

MEMORY = 8 << 30
TIMEOUT = "timeout"


def in_fork(work: Callable[[Callable[[str], None]], None], seconds: float) -> tuple[str, float]:
    """Return the answer of ``work`` and its processor time. Work gives it by a call that ends the process."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        _run(work, writing, seconds)
    os.close(writing)
    answer = b""
    try:
        while select.select([reading], [], [], 10 * seconds)[0]:
            part = os.read(reading, 65536)
            if not part:
                break
            answer += part
        else:
            os.kill(process, signal.SIGKILL)
    finally:
        os.close(reading)
        _, status, used = os.wait4(process, 0)
    killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGKILL, signal.SIGXCPU)
    text = answer.decode() or (TIMEOUT if killed else f"crashed: status {status}")
    return text, used.ru_utime + used.ru_stime


def _run(work: Callable[[Callable[[str], None]], None], writing: int, seconds: float) -> None:
    def answer(text: str) -> None:
        os.write(writing, text.encode()[:65536])
        os._exit(0)

    limit = int(seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    try:
        work(answer)
    except BaseException as error:
        answer(f"crashed: {type(error).__name__}: {error}")
    answer("crashed: no answer")
