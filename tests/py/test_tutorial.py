import tap; tap.main()
