# twin: shared
"""A Worker can be stopped once, from anywhere, also before it runs."""

import threading

from dex_agents.sdk.stop import WorkerStop


def test_a_request_calls_back_once() -> None:
    stop, calls = WorkerStop(), list[str]()
    stop.on_request(lambda: calls.append("a"))
    stop.on_request(lambda: calls.append("b"))
    assert not stop.is_requested
    stop.request()
    stop.request()
    assert stop.is_requested
    assert sorted(calls) == ["a", "b"]


def test_who_comes_late_is_called_at_once() -> None:
    stop, calls = WorkerStop(), list[str]()
    stop.request()
    stop.on_request(lambda: calls.append("late"))
    assert calls == ["late"]


def test_many_threads_may_ask_at_the_same_time() -> None:
    stop, calls = WorkerStop(), list[int]()
    start = threading.Barrier(8)

    def ask(number: int) -> None:
        start.wait()
        stop.on_request(lambda: calls.append(number))
        stop.request()

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(calls) == list(range(8))
