"""boot-resume: brings the machine from its boot to running episodes, by the first stage that is not yet true."""
