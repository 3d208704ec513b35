# twin: source
