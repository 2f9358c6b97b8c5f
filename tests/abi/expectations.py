"""What a test expects, and how much of it did not hold."""
failed = 0


def expect(holds, text):
    global failed
    if not holds:
        print(f'FAIL: {text}')
        failed += 1
