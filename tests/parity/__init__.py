# twin: shared
